package sim

import (
	"math"
	"slices"

	"github.com/corehour/corehour/regression/drift"
)

// DriftScore contains the counts for one way of finding drift.
type DriftScore struct {
	MethodDays float64 // evaluated days, summed over unchanged methods
	False      int     // alarms on unchanged methods, counted once at their start
	Methods    int     // changed methods
	Found      int
	Days       []float64 // days from the start of a change to its alarm, in ascending order
}

// FalsePer1000Days returns the number of false alarms per 1,000 methods and day.
func (s *DriftScore) FalsePer1000Days() float64 { return 1000 * float64(s.False) / s.MethodDays }

// AtMostPer1000Days returns the upper bound of a one-sided 95% interval of FalsePer1000Days.
func (s *DriftScore) AtMostPer1000Days() float64 { return 1000 * atMost(s.False) / s.MethodDays }

// FoundShare returns the share of changed methods that were found, in percent.
func (s *DriftScore) FoundShare() float64 { return 100 * float64(s.Found) / float64(s.Methods) }

// MedianDay returns the median of Days, infinite if no change was found.
func (s *DriftScore) MedianDay() float64 {
	if len(s.Days) == 0 {
		return math.Inf(1)
	}
	return s.Days[(len(s.Days)-1)/2]
}

// firstLook is the first day with counted alarms. By then the methods have their 56 days of history.
const firstLook = 63

// count adds the alarms of one day. now and before are the alarms of this day and of the day before, by method.
func (s *DriftScore) count(h *History, p Months, day int, now, before, ever []bool) {
	for m := range now {
		switch {
		case h.Changed[m] && day >= p.Begin && now[m] && !ever[m]:
			ever[m] = true
			s.Found++
			s.Days = append(s.Days, float64(day-p.Begin))
		case !h.Changed[m] && now[m] && !before[m]:
			s.False++
		}
	}
}

func (h *History) score() (s DriftScore) {
	for _, changed := range h.Changed {
		if changed {
			s.Methods++
		}
	}
	s.MethodDays = float64((len(h.Changed) - s.Methods) * (h.Days - firstLook))
	return s
}

// WatchDrift counts the drifts that the drift package reports in a history.
func WatchDrift(h *History, p Months) (DriftScore, error) {
	s := h.score()
	number := map[string]int{}
	for m, name := range h.Methods {
		number[name] = m
	}
	result, err := drift.Replay(&h.History)
	if err != nil {
		return s, err
	}
	ever := make([]bool, len(h.Methods))
	for i := range result.Drifts {
		d := &result.Drifts[i]
		m, isMethod := number[d.Method]
		switch {
		case !isMethod:
		case !h.Changed[m]:
			s.False++
		case d.Change > 0 && d.Confirmed >= p.Begin && !ever[m]:
			ever[m] = true
			s.Found++
			s.Days = append(s.Days, float64(d.Confirmed-p.Begin))
		}
	}
	slices.Sort(s.Days)
	return s, nil
}

// WatchWeeks evaluates every day with a naive rule: the mean of the last week exceeds that of the four
// weeks before by more than 5%.
func WatchWeeks(h *History, p Months) DriftScore {
	s := h.score()
	before, ever := make([]bool, len(h.Methods)), make([]bool, len(h.Methods))
	average := func(y []float64) float64 {
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		return sum / float64(len(y))
	}
	for day := firstLook; day <= h.Days; day++ {
		now := make([]bool, len(h.Methods))
		for m, y := range h.Means {
			now[m] = average(y[day-7:day]) > 1.05*average(y[day-35:day-7])
		}
		s.count(h, p, day, now, before, ever)
		before = now
	}
	slices.Sort(s.Days)
	return s
}
