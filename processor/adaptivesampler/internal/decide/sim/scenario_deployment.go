package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Rollout is the result for a new version with a tenth of the calls.
type Rollout struct {
	TooMany int     // as in After
	Even    float64 // median over methods of the new version's records relative to the old one's
	Scarcer float64 // median over the most expensive methods of the records of the side with fewer
	Spent   float64 // records of all in the last half of the hour, as part of the budget
}

const canary = 0.1

// Deploy runs a new version alongside the old one for an hour.
func Deploy(size int, boost bool, seed uint64) Rollout {
	cfg, budget := budgetOf(size)
	cfg.Boost.Enabled = boost
	w := settledWorld(size, cfg, settled, 1, seed)
	old := slices.Clone(w.Methods)
	next := make([]*Method, len(old))
	for i, m := range old {
		next[i] = m.inVersion(decide.Group{Service: "shop", Version: "2"}, 1, 1.05)
	}
	w.Add(next)
	w.Reset()
	var r Rollout
	load := func(m *Method, _ int) float64 {
		if m.Key.Version == "2" {
			return canary
		}
		return 1 - canary
	}
	for i := 1; i <= watched; i++ {
		passed := w.Pass(load)
		if passed.Records > allowed(budget) {
			r.TooMany = i
		}
		if i > watched/2 {
			r.Spent += passed.Records / budget / (watched / 2)
		}
		if i == 10 { // by then rates have risen to where they are to be
			w.Reset()
		}
	}
	r.judge(w, old, next)
	return r
}

func (r *Rollout) judge(w *World, old, next []*Method) {
	byCost := make([]int, len(old))
	for i := range byCost {
		byCost[i] = i
	}
	slices.SortFunc(byCost, func(a, b int) int { return cmp.Compare(old[b].Calls*old[b].Mean, old[a].Calls*old[a].Mean) })
	var even, scarcer []float64
	for place, i := range byCost {
		before, after := w.Tally(old[i]).Records, w.Tally(next[i]).Records
		if w.Tally(next[i]).Calls > 4*before { // else there are not enough calls to be even
			even = append(even, after/math.Max(before, 1))
		}
		if place < len(byCost)/20 {
			scarcer = append(scarcer, min(before, after))
		}
	}
	r.Even, r.Scarcer = median(even), median(scarcer)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	if len(xs) == 0 {
		return math.NaN()
	}
	return xs[len(xs)/2]
}
