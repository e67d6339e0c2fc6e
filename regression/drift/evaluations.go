package drift

import (
	"cmp"
	"slices"
)

// findingKey identifies a finding in consecutive evaluations.
type findingKey struct {
	method string
	rises  bool
}

func (f *Finding) key() findingKey { return findingKey{f.Method, f.Change > 0} }

// evaluations holds the evaluations of a history, one at the end of each day.
type evaluations struct {
	h     *History
	byDay []Day
	made  map[int][]Finding // by the number of days seen
}

func newEvaluations(h *History) *evaluations {
	byDay := slices.SortedFunc(slices.Values(h.Rows), func(a, b Day) int { return cmp.Compare(a.Day, b.Day) })
	return &evaluations{h: h, byDay: byDay, made: map[int][]Finding{}}
}

// historyUntil returns the part of the history that an evaluation after this number of days sees.
func (e *evaluations) historyUntil(days, back int) *History {
	upTo := func(day int) int {
		at, _ := slices.BinarySearchFunc(e.byDay, int32(day), func(r Day, day int32) int { return cmp.Compare(r.Day, day) })
		return at
	}
	shown := *e.h
	shown.Days, shown.Rows = max(0, days), e.byDay[upTo(days-window-back):upTo(days)]
	return &shown
}

// evaluateNeeded runs the evaluations that can be part of a run of confirmations, and returns the methods of the last one.
// It runs every ninth evaluation, as any run of nine (confirmations) contains one of them. Around each it runs
// further evaluations as long as they repeat its findings.
func (e *evaluations) evaluateNeeded() (last []method) {
	e.made[e.h.Days], last = evaluate(e.historyUntil(e.h.Days, lookBack))
	for day := e.h.Days; day >= LeastDays; day -= confirmations {
		e.evaluateAround(day, -1)
		e.evaluateAround(day, 1)
	}
	return last
}

// evaluateAround runs the evaluations before (step -1) or after (step 1) the one of a day.
func (e *evaluations) evaluateAround(day, step int) {
	all := map[findingKey]int{} // number of evaluations by finding
	for n := 1; n <= confirmations && day >= LeastDays && day <= e.h.Days; n++ {
		found, made := e.made[day]
		if !made {
			found, _ = evaluate(e.historyUntil(day, lookBack))
			e.made[day] = found
		}
		again := false
		for i := range found {
			if c := found[i].key(); all[c] == n-1 {
				all[c], again = n, true
			}
		}
		if !again {
			return
		}
		day += step
	}
}

// confirmed returns the changes found by at least nine consecutive evaluations (confirmations).
func (e *evaluations) confirmed() (drifts []Drift) {
	runs := map[findingKey]int{}
	for day := LeastDays; day <= e.h.Days; day++ {
		longer := map[findingKey]int{}
		for _, f := range e.made[day] {
			c := f.key()
			if longer[c] = runs[c] + 1; longer[c] >= confirmations {
				drifts = addFinding(drifts, f, day)
			}
		}
		runs = longer
	}
	for i := range drifts {
		drifts[i].dateBefore()
	}
	return drifts
}
