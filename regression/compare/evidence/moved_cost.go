package evidence

import (
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

// certain is the logarithm of the e-value from which a method counts as cheaper. It needs no correction for many
// hypotheses, because only a method next to a raised one is tested.
var certain = math.Log(20)

// findMoved marks raised methods as Moved if the same caller saves as much elsewhere. It visits callers before callees.
// by maps a caller to the callees that explain its growth.
func (f *flows) findMoved(methods []compared, raised []int, by map[int][]int, o Options) {
	moves := map[int][]string{}
	for _, m := range slices.Backward(raised) {
		from := f.movedFrom(methods, m, o)
		for payer, its := range moves {
			if from == nil && slices.Contains(by[payer], m) && f.mostly(payer, m, o) {
				from = its
			}
		}
		if from == nil {
			continue
		}
		moves[m] = from
		if methods[m].verdict.State != Explained { // an Explained method passes its growth on to a callee
			methods[m].notItsOwn(Moved, from)
		}
	}
}

// movedFrom finds a caller of method m whose total cost did not change, because another callee or its own code got
// cheaper by as much. It returns the text "moved FROM -> m", or nil.
func (f *flows) movedFrom(methods []compared, m int, o Options) []string {
	callers := map[int32]bool{}
	for _, c := range f.x.of(m) {
		callers[c.Caller] = true
	}
	for payer := range methods {
		caller, ok := f.caller[methods[payer].name]
		if !ok || !callers[caller] || payer == m {
			continue
		}
		excess, _ := f.excess(payer, m)
		whole, e := f.excess(payer, payer)
		if excess <= 0 || !f.mostly(payer, m, o) || math.Abs(whole) > (1-o.Explained)*excess {
			continue
		}
		// The total must be known: twice its error below half of the moved cost. Otherwise a total that is
		// unchanged only by chance would hide a regression.
		unchanged := o.known(e, excess)
		for sibling := range methods {
			if sibling == m || sibling == payer || !methods[sibling].cheaper(o) {
				continue
			}
			if saved, e := f.excess(payer, sibling); saved <= -o.Explained*excess && o.known(e, excess) {
				return []string{fmt.Sprintf("moved %s -> %s", methods[sibling].name, methods[m].name)}
			}
		}
		// A caller whose total is unchanged, but which pays more for m, pays less for the rest.
		if methods[payer].verdict.State.Judged() && unchanged {
			return []string{fmt.Sprintf("moved within %s -> %s", methods[payer].name, methods[m].name)}
		}
	}
	return nil
}

// known reports whether twice the standard error se is at most half of value.
func (o Options) known(se, value float64) bool { return o.twice(se) <= value/2 }

// twice returns twice the standard error, with inflation.
func (o Options) twice(se float64) float64 { return 2 * math.Sqrt(o.Inflation) * se }

func (c *compared) cheaper(o Options) bool {
	return c.verdict.State.Judged() && stats.LogEStudent(-math.Log1p(c.verdict.Change), c.spread.all, c.spread.df, margin(o), scales) >= certain
}
