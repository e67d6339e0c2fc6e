package evidence

import (
	"testing"
	"time"
)

// Three evaluations against an alert withdraw it. An alert of the typical cost is kept by the typical cost, even where the
// own cost fell.
func TestMemory_KeepsAlert(t *testing.T) {
	for _, test := range []struct {
		typical  float64 // change of the typical cost
		against  int     // earlier evaluations
		kept     bool
		expected int
	}{
		{0.5, 0, true, 0}, {0.5, 2, true, 0}, {-0.5, 0, true, 1}, {-0.5, 2, false, 0},
	} {
		c := &compared{name: "m", before: true, typical: true, byTypical: true, basis: Own, decide: []statistic{mean}}
		for s, change := range map[statistic]float64{mean: -0.1, level: test.typical} {
			c.fits[s] = fit{ok: true, change: change, df: 20}
			c.errors[s] = errorOf{0.01, 0.01, 20}
		}
		c.verdict = outcome{State: NotProven, Change: -0.1, Interval: [2]float64{-0.3, 0.01}}
		m := Memory{InARow: map[string]map[string]int{"": {"m": 4}}, Against: map[string]map[string]int{"": {"m": test.against}}}
		against := map[alertKey]int{}
		raised := m.keep([]*compared{c}, nil, 0.02, Defaults(), m.Seen.Add(time.Minute), against)
		if kept := len(raised) == 1; kept != test.kept || c.kept != test.kept || against[c.alertKey()] != test.expected || c.basis != Typical {
			t.Errorf("typical %v after %d against: kept %v, %d against, basis %s", test.typical, test.against, kept, against[c.alertKey()], c.basis)
		}
	}
}
