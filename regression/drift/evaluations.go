package drift

import (
	"cmp"
	"slices"
)

// change is the key by which consecutive evaluations agree on a finding.
type change struct {
	method string
	rises  bool
}

func (f *Finding) change() change { return change{f.Method, f.Change > 0} }

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

// shown returns the part of the history that an evaluation after this number of days sees.
func (l *evaluations) shown(days, back int) *History {
	upTo := func(day int) int {
		at, _ := slices.BinarySearchFunc(l.byDay, int32(day), func(r Day, day int32) int { return cmp.Compare(r.Day, day) })
		return at
	}
	shown := *l.h
	shown.Days, shown.Rows = max(0, days), l.byDay[upTo(days-window-back):upTo(days)]
	return &shown
}

// needed runs the evaluations that can be part of a run of confirmations, and returns the methods of the last one.
// It runs every ninth evaluation, as any run of nine (confirmations) contains one of them. Around each it runs
// further evaluations as long as they repeat its findings.
func (l *evaluations) needed() (last []method) {
	l.made[l.h.Days], last = evaluate(l.shown(l.h.Days, lookBack))
	for day := l.h.Days; day >= LeastDays; day -= confirmations {
		l.around(day, -1)
		l.around(day, 1)
	}
	return last
}

// around runs the evaluations before (step -1) or after (step 1) the one of a day.
func (l *evaluations) around(day, step int) {
	all := map[change]int{} // number of evaluations by change
	for n := 1; n <= confirmations && day >= LeastDays && day <= l.h.Days; n++ {
		found, made := l.made[day]
		if !made {
			found, _ = evaluate(l.shown(day, lookBack))
			l.made[day] = found
		}
		again := false
		for i := range found {
			if c := found[i].change(); all[c] == n-1 {
				all[c], again = n, true
			}
		}
		if !again {
			return
		}
		day += step
	}
}

// told returns the changes found by at least nine consecutive evaluations (confirmations).
func (l *evaluations) told() (told []Drift) {
	runs := map[change]int{}
	for day := LeastDays; day <= l.h.Days; day++ {
		longer := map[change]int{}
		for _, f := range l.made[day] {
			c := f.change()
			if longer[c] = runs[c] + 1; longer[c] >= confirmations {
				told = joinFinding(told, f, day)
			}
		}
		runs = longer
	}
	for i := range told {
		told[i].dateBefore()
	}
	return told
}
