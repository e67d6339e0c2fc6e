package drift

import (
	"cmp"
	"slices"
)

// change is what evaluations must agree on.
type change struct {
	method string
	rises  bool
}

func (f *Finding) change() change { return change{f.Method, f.Change > 0} }

// evaluations are made at the ends of the days of a history.
type evaluations struct {
	h     *History
	byDay []Day
	made  map[int][]Finding // by the number of days seen
}

func newEvaluations(h *History) *evaluations {
	byDay := slices.SortedFunc(slices.Values(h.Rows), func(a, b Day) int { return cmp.Compare(a.Day, b.Day) })
	return &evaluations{h: h, byDay: byDay, made: map[int][]Finding{}}
}

// shown is what an evaluation sees that is made after so many days.
func (l *evaluations) shown(days, back int) *History {
	upTo := func(day int) int {
		at, _ := slices.BinarySearchFunc(l.byDay, int32(day), func(r Day, day int32) int { return cmp.Compare(r.Day, day) })
		return at
	}
	shown := *l.h
	shown.Days, shown.Rows = max(0, days), l.byDay[upTo(days-window-back):upTo(days)]
	return &shown
}

// needed makes the evaluations that can be part of a run of confirmations, and returns the methods of the last one.
// It makes every ninth evaluation (confirmations), as any such run contains one of them, and those
// around each for as long as they find what it found.
func (l *evaluations) needed() (last []method) {
	l.made[l.h.Days], last = evaluate(l.shown(l.h.Days, lookBack))
	for day := l.h.Days; day >= LeastDays; day -= confirmations {
		l.around(day, -1)
		l.around(day, 1)
	}
	return last
}

// around makes the evaluations before or after one.
func (l *evaluations) around(day, step int) {
	all := map[change]int{} // by the number of evaluations
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

// told returns the changes that enough consecutive evaluations (confirmations) found.
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
