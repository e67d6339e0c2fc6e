package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/stats"
)

// excesses tells what every change costs in a day, at the calls of the head
// version in the slots that were compared.
func excesses(x *index, methods []compared) {
	running := make([]bool, x.d.Slots)
	for i, in := range x.d.Instances {
		for s := range running {
			running[s] = running[s] || in.Side == Head && x.warm[i*x.d.Slots+s]
		}
	}
	n := 0
	for _, r := range running {
		if r {
			n++
		}
	}
	if n == 0 {
		return
	}
	days := float64(n) * float64(x.d.Slot) / float64(24*time.Hour)
	for i := range methods {
		c := &methods[i]
		if c.verdict.State.Judged() {
			c.verdict.ExcessPerDay = (c.verdict.HeadMean - c.verdict.BaseMean) * c.weight[Head] / days
		}
	}
}

// flows answer what the head version paid beyond the base version: a method in
// all, or to one callee, per slot at equal calls of the one who pays.
type flows struct {
	x      *index
	common []float64
	number map[string]int   // of a method
	caller map[string]int32 // of a caller
	calls  map[int][2][]float64
}

func newFlows(x *index, common []float64) *flows {
	f := &flows{x: x, common: common, number: map[string]int{}, caller: map[string]int32{}, calls: map[int][2][]float64{}}
	for m, name := range x.d.Methods {
		f.number[name] = m
	}
	for c, name := range x.d.Callers {
		f.caller[name] = int32(c)
	}
	return f
}

// all stands for calls from any caller.
const all int32 = -1

// sums adds up calls and capped cost of a method by side and slot, less the common
// mode.
func (f *flows) sums(method int, caller int32) (calls, paid [2][]float64) {
	for side := range calls {
		calls[side], paid[side] = make([]float64, f.x.d.Slots), make([]float64, f.x.d.Slots)
	}
	cells := f.x.of(method)
	for i := range cells {
		c := &cells[i]
		if caller != all && c.Caller != caller || !f.x.counts(c) {
			continue
		}
		side, slot := f.x.d.Instances[c.Instance].Side, c.Slot
		if f.x.d.Overlap == Sequential {
			slot = 0 // no slot has both versions
		}
		calls[side][slot] += c.Weight
		paid[side][slot] += c.Capped * math.Exp(-f.common[f.x.at(c.Instance, c.Slot)])
	}
	return calls, paid
}

// excess is what payer pays more for a method; with payer == method, for itself.
func (f *flows) excess(payer, method int) float64 {
	calls, ok := f.calls[payer]
	if !ok {
		calls, _ = f.sums(payer, all)
		f.calls[payer] = calls
	}
	from := all
	if payer != method {
		if from, ok = f.caller[f.x.d.Methods[payer]]; !ok {
			return 0
		}
	}
	_, paid := f.sums(method, from)
	total := 0.0
	for s, base := range calls[Base] {
		if base > 0 {
			total += paid[Head][s] - calls[Head][s]*paid[Base][s]/base
		}
	}
	return total
}

// fold lowers to Explained what raised callees account for, dearer ones and those
// called more often, and to Moved what is saved elsewhere. Callees come before
// callers: they cost less in all. calls are the verdicts on pairs.
func fold(x *index, methods, calls []compared, common []float64, o Options) {
	f := newFlows(x, common)
	oftener := map[string]bool{}
	for i := range calls {
		if s := calls[i].verdict.State; s == Regressed || s == Pending {
			oftener[calls[i].name] = true
		}
	}
	var raised []int
	for m := range methods {
		if s := methods[m].verdict.State; s == Regressed || s == Pending {
			raised = append(raised, m)
		}
	}
	slices.SortFunc(raised, func(a, b int) int {
		return cmp.Or(cmp.Compare(methods[a].verdict.HeadMean*methods[a].weight[Head], methods[b].verdict.HeadMean*methods[b].weight[Head]), a-b)
	})
	by := map[int][]int{} // what explains a method
	for _, m := range raised {
		own, explained := f.excess(m, m), 0.0
		var names []string
		for callee := range methods {
			dearer := callee != m && slices.Contains(raised, callee) && !reaches(by, callee, m)
			more := oftener[pairName(methods[m].name, methods[callee].name)]
			if !dearer && !more {
				continue
			}
			if e := f.excess(m, callee); e > 0 {
				explained += e
				by[m] = append(by[m], callee)
				if names = append(names, methods[callee].name); more {
					names[len(names)-1] = "more calls of " + methods[callee].name
				}
			}
		}
		if own > 0 && explained >= o.Explained*own {
			methods[m].verdict.State, methods[m].verdict.Explains = Explained, names
			continue
		}
		delete(by, m)
	}
	moved := map[int]bool{}
	for _, m := range slices.Backward(raised) { // callers come before callees
		v := &methods[m].verdict
		from := f.movedFrom(methods, m, o)
		for payer := range moved {
			if from == nil && slices.Contains(by[payer], m) && f.excess(payer, m) >= o.Explained*f.excess(m, m) {
				from = methods[payer].verdict.Explains
			}
		}
		if from != nil {
			moved[m] = true
			v.State, v.Explains = Moved, from
		}
	}
}

// reaches tells whether a method is explained, through others, by another.
func reaches(by map[int][]int, from, to int) bool {
	for _, next := range by[from] {
		if next == to || reaches(by, next, to) {
			return true
		}
	}
	return false
}

// certain is the e-value, as a logarithm, from which a method is taken to have got
// cheaper: one method is asked, because another was raised.
var certain = math.Log(20)

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
		excess := f.excess(payer, m)
		if excess <= 0 || excess < o.Explained*f.excess(m, m) || math.Abs(f.excess(payer, payer)) > (1-o.Explained)*excess {
			continue
		}
		for sibling := range methods {
			if sibling != m && sibling != payer && methods[sibling].cheaper(o) && f.excess(payer, sibling) <= -o.Explained*excess {
				return []string{fmt.Sprintf("moved %s -> %s", methods[sibling].name, methods[m].name)}
			}
		}
		// Who pays the same for all and more for one pays less for the rest, if it
		// is known well enough that it pays the same.
		p := &methods[payer]
		if p.verdict.State.Judged() && 2*math.Sqrt(p.spread)*p.verdict.BaseMean*p.weight[Head] <= excess/2 {
			return []string{fmt.Sprintf("moved within %s -> %s", p.name, methods[m].name)}
		}
	}
	return nil
}

func (c *compared) cheaper(o Options) bool {
	return c.verdict.State.Judged() && stats.LogE(-c.fits[cost].change, c.spread, margin(o), scales) >= certain
}
