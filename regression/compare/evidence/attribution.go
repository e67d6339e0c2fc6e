package evidence

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// excesses sets ExcessPerDay of each judged method: the cost of its change in ns a day, at the calls of the head
// version in the compared buckets.
func excesses(x *index, methods []compared) {
	n := x.headBuckets()
	if n == 0 {
		return
	}
	days := float64(n) * float64(x.d.Bucket) / float64(24*time.Hour)
	for i := range methods {
		c := &methods[i]
		if c.verdict.State.Judged() {
			c.verdict.ExcessPerDay = (c.verdict.HeadMean - c.verdict.BaseMean) * c.weight[Head] / days
		}
	}
}

// measureShares sets the cost of the head's calls from outside the measured methods, and that of the calls of each pair.
func (l *evaluation) measureShares() {
	x := l.x
	isMethod := map[string]bool{}
	for _, name := range x.d.Methods {
		isMethod[name] = true
	}
	cost := map[alertKey]float64{}
	for i := range x.cells {
		c := &x.cells[i]
		if !x.counts(c) || x.d.Instances[c.Instance].Side != Head {
			continue
		}
		caller := x.d.Callers[c.Caller]
		cost[alertKey{caller, x.d.Methods[c.Method]}] += c.Sum
		if !isMethod[caller] {
			x.headCost += c.Sum
		}
	}
	for i := range l.calls {
		l.calls[i].callsCost = cost[l.calls[i].alertKey()]
	}
}

// attribute finds the methods whose change belongs to other methods. A caller whose inclusive cost grew because of
// regressed callees becomes Explained; a cost that its caller saves elsewhere becomes Moved. Methods are visited in
// order of their inclusive cost, so callees come before callers. calls are the verdicts on pairs of caller and method.
func attribute(x *index, methods, calls []compared, level []float64, o Options) {
	f := newFlows(x, level)
	oftener := map[alertKey]bool{}
	for i := range calls {
		if s := calls[i].verdict.State; s == Regressed || s == Pending {
			oftener[calls[i].alertKey()] = true
		}
	}
	localize(f, methods, o)
	raised := make([]bool, len(methods)) // or explained by raised methods
	var order []int
	for m := range methods {
		switch methods[m].verdict.State {
		case Regressed, Pending:
			raised[m] = true
		case NotDistinguishable, Small:
			raised[m] = true
		case NotProven, Undecided:
		default:
			continue
		}
		order = append(order, m)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(methods[a].inclusiveCost, methods[b].inclusiveCost), a-b)
	})
	var explained []*compared
	by := map[int][]int{} // method -> the methods that explain it
	for _, m := range order {
		c := &methods[m]
		if c.basis != Typical && (raised[m] && c.basis != Inclusive || c.verdict.Inclusive.Interval[0] <= 0 || c.verdict.Inclusive.Change < o.LeastChange) {
			continue
		}
		if names := explanation(f, methods, m, raised, oftener, by, o); names != nil {
			c.notItsOwn(Explained, names)
			raised[m] = true
			explained = append(explained, c)
		}
	}
	for _, c := range explained {
		if c.basis == Typical {
			c.restoreOwn()
		}
	}
	f.findMoved(methods, slices.DeleteFunc(order, func(m int) bool { return !raised[m] }), by, o)
}

// localize moves alerts of typical costs to the callee that has the growth. The alert proves that something below the
// method grew; a callee with half of the growth, whose own typical cost grew beyond its 95% interval, then needs no
// evidence of its own. Methods are visited from the outermost inwards.
func localize(f *flows, methods []compared, o Options) {
	var order []int
	for m := range methods {
		if methods[m].verdict.State.Judged() {
			order = append(order, m)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(methods[b].inclusiveCost, methods[a].inclusiveCost), a-b)
	})
	for _, m := range order {
		c := &methods[m]
		if s := c.verdict.State; c.basis != Typical || s != Regressed && s != Pending {
			continue
		}
		grew := (c.verdict.HeadMean - c.verdict.BaseMean) * c.weight[Head]
		for _, callee := range f.x.calleesOf(m) {
			in := &methods[callee]
			if callee == m || in.verdict.State != NotProven && in.verdict.State != Undecided || !in.fits[level].ok {
				continue
			}
			growth := in.typicalBase * math.Expm1(in.fits[level].change) * f.headCalls(m, callee)
			measured := partOf(in.fits[level].change, in.errors[level].measured, in.fits[level].df)
			if 2*growth >= grew && measured.Interval[0] > 0 && in.typicalChange().Change >= o.LeastChange {
				in.decideByTypical()
				in.verdict.State, in.verdict.LogE, in.verdict.EValue, in.verdict.NeededE = c.verdict.State, c.verdict.LogE, c.verdict.EValue, c.verdict.NeededE
				in.verdict.Warnings = append(in.verdict.Warnings, "the evidence is that of its caller "+c.name)
				in.answers = c.answers
				if in.doubt(in.x, o); in.doubted != "" {
					in.answers.ask(undoubted, false)
					in.verdict.State = in.doubted
				}
			}
		}
	}
}

// explanation returns the names of the raised callees that account for the growth of method m, or nil if they do not.
func explanation(f *flows, methods []compared, m int, raised []bool, oftener map[alertKey]bool, by map[int][]int, o Options) []string {
	c := &methods[m]
	grew, _ := f.excess(m, m)
	if c.basis == Typical {
		grew = (c.verdict.HeadMean - c.verdict.BaseMean) * c.weight[Head]
	}
	if grew <= 0 {
		return nil
	}
	sum := 0.0
	var names []string
	for _, callee := range f.x.calleesOf(m) {
		more := oftener[alertKey{c.name, methods[callee].name}]
		if callee == m || !raised[callee] && !more {
			continue
		}
		e, _ := f.excess(m, callee)
		if c.basis == Typical { // the growth that was proven is known better than that of the mean
			e = max(e, f.headCalls(m, callee)*(methods[callee].verdict.HeadMean-methods[callee].verdict.BaseMean))
		}
		if !(e > 0) || reaches(by, callee, m) {
			continue
		}
		sum += e
		by[m] = append(by[m], callee)
		if names = append(names, methods[callee].name); more {
			names[len(names)-1] = "more calls of " + methods[callee].name
		}
	}
	least := o.Explained
	if c.basis != Inclusive { // its own cost was tested separately
		least = 0.5
	}
	if sum < least*grew {
		delete(by, m)
		return nil
	}
	slices.Sort(names)
	return names
}

// attributeService decides what to report if the whole service is raised: the service, if most methods changed by as
// much; else the methods that changed.
func attributeService(methods []compared, service *compared) {
	s := &service.verdict
	if s.State != Regressed && s.State != Pending {
		return
	}
	judged := 0
	var alike, raised []int
	for m := range methods {
		v := &methods[m].verdict
		if v.State.Judged() {
			judged++
		}
		if methods[m].basis == Typical { // with its callees, which may be what changed
			continue
		}
		together := s.CommonReason == moreThanHosts && v.State == Undecided
		if v.State != Regressed && v.State != Pending && !together {
			continue
		}
		if !together {
			raised = append(raised, m)
		}
		if v.Measured.Interval[0] <= s.Interval[1] && v.Measured.Interval[1] >= s.Interval[0] {
			alike = append(alike, m)
		}
	}
	switch {
	case len(alike) > 1 && (s.CommonReason == moreThanHosts || 2*len(alike) > judged):
		for _, m := range alike {
			methods[m].verdict.State = WithService
			methods[m].answers.endAt(enoughEvidence)
		}
	case len(raised) > 0 && s.Common == nil:
		var names []string
		for _, m := range raised {
			names = append(names, methods[m].name)
		}
		service.notItsOwn(Explained, names)
	}
}

// reaches reports whether the method from is explained by the method to, directly or through others. It visits each
// method once, because the number of paths grows exponentially with the layers of calls.
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
