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

// fold lowers to Explained what raised callees account for, dearer ones and those
// called more often, as far as is known, and to Moved what is saved elsewhere. Callees
// come before callers: they cost less in all. calls are the verdicts on pairs.
func fold(x *index, methods, calls []compared, common []float64, o Options) {
	f := newFlows(x, common)
	oftener := map[subject]bool{}
	for i := range calls {
		if s := calls[i].verdict.State; s == Regressed || s == Pending {
			oftener[calls[i].subject()] = true
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
	isRaised := make([]bool, len(methods))
	for _, m := range raised {
		isRaised[m] = true
	}
	by := map[int][]int{} // what explains a method
	for _, m := range raised {
		own, _ := f.excess(m, m)
		var names []string
		for callee := range methods {
			more := oftener[subject{methods[m].name, methods[callee].name}]
			if dearer := callee != m && isRaised[callee]; !dearer && !more {
				continue
			}
			if e, _ := f.excess(m, callee); !(e > 0) || !more && reaches(by, callee, m) {
				continue
			}
			by[m] = append(by[m], callee)
			if names = append(names, methods[callee].name); more {
				names[len(names)-1] = "more calls of " + methods[callee].name
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

// reaches tells whether a method is explained, through others, by another. Each is
// visited once, however many ways lead to it: layers multiply them.
func reaches(by map[int][]int, from, to int) bool {
	seen := map[int]bool{from: true}
	for todo := []int{from}; len(todo) > 0; {
		last := len(todo) - 1
		here := todo[last]
		todo = todo[:last]
		for _, next := range by[here] {
			if next == to {
				return true
			}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}
