//go:build !race

package sim

import (
	"math"
	"testing"
)

func TestWatchDrift_FindsDrift(t *testing.T) {
	for name, p := range map[string]Months{
		"rise": {Methods: 60, Days: 126, Records: 20_000, Changed: 0.2, Effect: 0.10, Begin: 63, Over: 60},
		"step": {Methods: 60, Days: 112, Records: 20_000, Changed: 0.2, Effect: 0.05, Begin: 63},
	} {
		h := DrawMonths(p, 3, 0)
		s, err := WatchDrift(h, p)
		if err != nil {
			t.Fatal(err)
		}
		if s.Methods != 12 || s.Found < 11 || s.FalsePer1000Days() > 1 {
			t.Errorf("%s: found %d of %d, %.3f false alarms per 1000 methods and day", name, s.Found, s.Methods, s.FalsePer1000Days())
		}
	}
}

// meanSpreads matches the measured spread of the means of single records.
func TestMeanSpreads_MatchRecords(t *testing.T) {
	m := Method{within: 0.8}
	limit := math.Exp(quantile995(m.sigma(), false))
	r := source(4, 0, "spread")
	const trials, requests = 20_000, 100
	var sum, squares float64
	for range trials {
		s := m.drawTogether(r, 0, limit, requests)
		mean := s.capped / s.n
		sum, squares = sum+mean, squares+mean*mean
	}
	mean := sum / trials
	got := math.Sqrt(squares/trials-mean*mean) / mean * math.Sqrt(requests*(1+moreInRequest))
	if want, _ := m.meanSpreads(); math.Abs(got/want-1) > 0.05 {
		t.Errorf("spread of one record %.3f from sums, %.3f as computed", got, want)
	}
}
