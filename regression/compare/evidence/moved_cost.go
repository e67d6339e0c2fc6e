package evidence

import (
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

// certain is the e-value, as a logarithm, from which a method is taken to have got
// cheaper: one method is asked, because another was raised.
var certain = math.Log(20)

// findMoved lowers to Moved what is saved elsewhere by the same caller, callers before
// callees. by says which callees explain what a caller pays more.
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
		if methods[m].verdict.State != Explained { // else what it pays more is on its way to a callee
			methods[m].notItsOwn(Moved, from)
		}
	}
}

// movedFrom looks for a caller of the method that pays in all what it paid: another
// callee, or its own code, got cheaper by as much. It names what did, nil if none.
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
		// A figure is known where twice its error is less than half of what moved:
		// one that is known by chance only would hide a regression.
		unchanged := o.known(e, excess)
		for sibling := range methods {
			if sibling == m || sibling == payer || !methods[sibling].cheaper(o) {
				continue
			}
			if saved, e := f.excess(payer, sibling); saved <= -o.Explained*excess && o.known(e, excess) {
				return []string{fmt.Sprintf("moved %s -> %s", methods[sibling].name, methods[m].name)}
			}
		}
		// Who pays the same for all and more for one pays less for the rest.
		if methods[payer].verdict.State.Judged() && unchanged {
			return []string{fmt.Sprintf("moved within %s -> %s", methods[payer].name, methods[m].name)}
		}
	}
	return nil
}

// known reports whether a flow with a standard error is small relative to a value.
func (o Options) known(se, value float64) bool { return o.twice(se) <= value/2 }

// twice is how far off a flow with a standard error may be.
func (o Options) twice(se float64) float64 { return 2 * math.Sqrt(o.Inflation) * se }

func (c *compared) cheaper(o Options) bool {
	return c.verdict.State.Judged() && stats.LogEStudent(-math.Log1p(c.verdict.Change), c.spread.all, c.spread.df, margin(o), scales) >= certain
}
