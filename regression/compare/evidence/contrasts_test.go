package evidence

import (
	"math/rand/v2"
	"testing"
)

// Methods of single processes differ by 10%, measured with errors of 5%. A few changed methods hide neither their change
// nor the spread of the others.
func TestContrasts_SpreadOfSingleProcesses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		methods, changed, bases int
		low, high               float64 // of the variance
	}{
		"none changed":      {60, 0, 1, 0.006, 0.015},
		"some changed":      {60, 6, 1, 0.006, 0.025},
		"too few methods":   {leastContrasts - 1, 0, 1, 0, 0},
		"several processes": {60, 0, 2, 0, 0},
	} {
		methods := make([]compared, c.methods)
		for i := range methods {
			m := &methods[i]
			m.basis, m.decide = Own, []statistic{cost, level}
			m.fits[level] = fit{ok: true, within: 0.0025, change: 0.2 + 0.1*r.NormFloat64() + 0.05*r.NormFloat64()}
			if i < c.changed {
				m.fits[level].change++
			}
		}
		got := contrasts(&index{bases: c.bases, heads: c.bases}, methods, level, betweenPrior*betweenPrior, betweenPriorDF)
		if got.Variance < c.low || got.Variance > c.high || got.DF > 0 != (c.low > 0) || got.DF > float64(c.methods+betweenPriorDF) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
