package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

const (
	window       = 56 // days looked at
	leastDays    = 42 // with a value, of these
	leastSide    = 7  // days on either side of a step
	trendAlpha   = 0.05
	stepAlpha    = 0.01
	leastRise    = 0.03 // of a trend, over the window
	leastStep    = 0.02
	wholeService = "whole service"
)

// Shape says how a method became dearer.
type Shape string

const (
	Trend Shape = "trend"
	Jump  Shape = "step"
)

// Finding is a method that became dearer.
type Finding struct {
	Method string `json:"method"`
	Shape  Shape  `json:"shape"`
	// Change over the 56 days of a trend, or the size of a step, as a share.
	Change float64 `json:"change"`
	// P is the one-sided p-value, before the control of false discoveries.
	P float64 `json:"p"`
	// Began is the day of the history on which it began, as well as that can be
	// told: of a step, or of the first change within a trend, else of the window.
	Began int `json:"began"`
	// Confirmed: the look before found it too. Only these are told to people.
	Confirmed bool   `json:"confirmed"`
	Reason    string `json:"reason"`

	values []float64
	days   []int
}

// Memory is what the weekly look before found. It can be stored as JSON; the zero
// value is a service that was never looked at.
type Memory struct {
	// Day is the number of days the look before saw.
	Day   int      `json:"day"`
	Found []string `json:"found"`
}

// Look looks at the last 56 days. memory is that of the look a week before; the one
// to keep for the next is returned. Looks less than 7 days apart are the same look.
func Look(h *History, memory Memory) ([]Finding, Memory, error) {
	if err := h.validate(); err != nil {
		return nil, memory, err
	}
	if h.Days < leastDays {
		return nil, memory, nil
	}
	from := max(0, h.Days-window)
	series := h.series(from)
	common := takeCommon(series, h.Days-from)
	names := append(slices.Clone(h.Methods), wholeService)
	series = append(series, common)

	found := detect(names, series, (h.Weekday+from)%7)
	next := Memory{Day: h.Days}
	for i := range found {
		f := &found[i]
		next.Found = append(next.Found, f.Method)
		f.Confirmed = h.Days-memory.Day >= 7 && slices.Contains(memory.Found, f.Method)
		if f.Confirmed { // dating takes a thousand permutations
			f.Began = began(f.values, f.days, f.Began)
		}
		f.Began += from
		f.Reason = reason(f, h.Days)
	}
	if h.Days-memory.Day < 7 {
		next = memory
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Change, a.Change) })
	return found, next, nil
}

func reason(f *Finding, days int) string {
	what := fmt.Sprintf("%+.1f%% over %d days", 100*f.Change, window)
	if f.Shape == Jump {
		what = fmt.Sprintf("a step of %+.1f%%", 100*f.Change)
	}
	told := "to be confirmed by the next weekly look"
	if f.Confirmed {
		told = "confirmed"
	}
	return fmt.Sprintf("%s, p %.2g, began %d days ago, %s", what, f.P, days-f.Began, told)
}

// detect applies both tests to all series, each with its own control of false
// discoveries over them.
func detect(names []string, series [][]float64, weekday int) []Finding {
	trends, steps := make([]stats.Trend, len(series)), make([]stats.Step, len(series))
	trendP, stepP := make([]float64, len(series)), make([]float64, len(series))
	values, days := make([][]float64, len(series)), make([][]int, len(series))
	for i, y := range series {
		trendP[i], stepP[i] = 1, 1
		values[i], days[i] = takeWeekdays(y, weekday)
		if len(values[i]) < leastDays {
			continue
		}
		trends[i] = stats.MannKendall(values[i])
		trendP[i] = trends[i].P
		if s, ok := stats.StepScan(values[i], leastSide); ok {
			steps[i], stepP[i] = s, s.P
		}
	}
	isTrend, isStep := stats.BH(trendP, trendAlpha), stats.BH(stepP, stepAlpha)
	var found []Finding
	for i, name := range names {
		rise := math.Expm1(trends[i].Slope * float64(len(values[i])))
		size := math.Expm1(steps[i].Size)
		switch {
		case isStep[i] && size >= leastStep && (stepP[i] <= trendP[i] || !isTrend[i]):
			found = append(found, Finding{Method: name, Shape: Jump, Change: size, P: stepP[i], Began: days[i][steps[i].At], values: values[i], days: days[i]})
		case isTrend[i] && rise >= leastRise:
			found = append(found, Finding{Method: name, Shape: Trend, Change: rise, P: trendP[i], values: values[i], days: days[i]})
		}
	}
	return found
}

// began is the day of the first change that leads up, otherwise what is known
// without one.
func began(values []float64, days []int, otherwise int) int {
	changes := stats.DateChanges(values)
	for i, at := range changes {
		from, to := 0, len(values)
		if i > 0 {
			from = changes[i-1]
		}
		if i+1 < len(changes) {
			to = changes[i+1]
		}
		if stats.Median(values[at:to]) > stats.Median(values[from:at]) {
			return days[at]
		}
	}
	return otherwise
}
