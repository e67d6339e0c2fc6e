//go:build !race

package sim

import "testing"

// The coverage of Hall's interval is near its goals and at least that of the normal interval.
func TestCoverage(t *testing.T) {
	costs := Costs()
	for i, row := range Cover(costs, []int{300}, 1500, 1) {
		if hall := row[0].Hall; hall < costs[i].Goals[2]-4 || hall > 99 {
			t.Errorf("%s: Hall's interval holds the truth in %.1f%%, want about %.1f%%", costs[i].Name, hall, costs[i].Goals[2])
		}
		if row[0].Hall < row[0].Normal-0.5 {
			t.Errorf("%s: Hall %.1f%%, symmetric %.1f%%", costs[i].Name, row[0].Hall, row[0].Normal)
		}
	}
}
