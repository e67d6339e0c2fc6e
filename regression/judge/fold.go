package judge

import (
	"cmp"
	"slices"
	"time"
)

// excesses tells what every change costs in a day, at the calls of the head
// version in the slots that were compared.
func excesses(x *index, methods []compared) {
	n := x.headSlots()
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

// headSlots counts the slots in which the head version ran, warmed up.
func (x *index) headSlots() (n int) {
	for s := range x.d.Slots {
		if x.headRuns(s) {
			n++
		}
	}
	return n
}

func (x *index) headRuns(slot int) bool {
	for i, in := range x.d.Instances {
		if in.Side == Head && x.warm[i*x.d.Slots+slot] {
			return true
		}
	}
	return false
}

// patience is for how many slots of the head version a caller waits for its callees.
const patience = 8

// wait lowers to Pending what grew mostly by what it pays to callees of which too
// little is known yet: they may be raised in a slot or two, and explain it then. What
// was seen in too few of many slots is called now and then, and nobody waits for it.
func wait(x *index, methods []compared, common []float64) {
	if x.headSlots() > patience {
		return
	}
	f := newFlows(x, common)
	for m := range methods {
		if methods[m].verdict.State != Regressed {
			continue
		}
		own, _ := f.excess(m, m)
		unknown := 0.0
		for callee := range methods {
			if callee != m && methods[callee].verdict.State == FewSlots {
				e, _ := f.excess(m, callee)
				unknown += e
			}
		}
		if own > 0 && unknown > own/2 {
			methods[m].verdict.State = Pending
		}
	}
}

// fold lowers to Explained what raised callees account for, dearer ones and those
// called more often, as far as is known, and to Moved what is saved elsewhere. Callees
// come before callers: they cost less in all. calls are the verdicts on pairs.
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
		own, _ := f.excess(m, m)
		var names []string
		for callee := range methods {
			dearer := callee != m && slices.Contains(raised, callee) && !reaches(by, callee, m)
			more := oftener[pairName(methods[m].name, methods[callee].name)]
			if !dearer && !more {
				continue
			}
			if e, _ := f.excess(m, callee); e > 0 {
				by[m] = append(by[m], callee)
				if names = append(names, methods[callee].name); more {
					names[len(names)-1] = "more calls of " + methods[callee].name
				}
			}
		}
		if own > 0 && len(names) > 0 && !f.grewItself(m, by[m], o) {
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
			if from == nil && slices.Contains(by[payer], m) && f.mostly(payer, m, o) {
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
