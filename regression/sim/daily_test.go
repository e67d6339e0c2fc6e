package sim

import (
	"strings"
	"testing"
)

// The goals of the table, in a short form: what is counted in a few files is near
// what is counted in many.
func TestDailyGoals(t *testing.T) {
	for name, part := range map[string]func(*Table, uint64, int) error{
		"common": commonMode, "dates": stepDates, "directions": directions, "short": shortSeries,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var table Table
			if err := part(&table, 20260304, 1); err != nil {
				t.Fatal(err)
			}
			for _, f := range table.Results {
				slack := 8. // of percent
				if strings.Contains(f.Name, "+3%") {
					slack = 25 // of 20 series
				}
				switch {
				case f.Goal == nil:
				case f.Better == "higher" && f.Value < *f.Goal-slack, f.Better == "lower" && f.Value > *f.Goal:
					t.Errorf("%s: %.3g, goal %v", f.Name, f.Value, *f.Goal)
				}
			}
		})
	}
}

// A dip in a file of its own, and noise that is autocorrelated, in files of one series.
func TestDailyNoise(t *testing.T) {
	lines := 0
	for n := range uint64(20) {
		p := dailyBase(0.03, 0.5)
		p.Series, p.Days, p.Dip = 1, 154, PlantedDip{70, 14, 0.3}
		course, err := p.Replay(9, n)
		if err != nil {
			t.Fatal(err)
		}
		p = dailyBase(0.03, 0.8)
		p.Series, p.Days = 1, 154
		noise, err := p.Replay(9, n)
		if err != nil {
			t.Fatal(err)
		}
		lines += len(told(course, 1)) + len(told(noise, 1))
	}
	if lines > 2 {
		t.Errorf("%d lines in 40 files in which nothing increased", lines)
	}
}
