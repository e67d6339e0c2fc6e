package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

const (
	window    = 56 // days looked at
	leastDays = 42 // with a value, of these
	leastSide = 7  // days on either side of a step
	// Of what a look finds so many may be chance; what two in a row find is less often.
	trendAlpha   = 0.10
	stepAlpha    = 0.01
	leastRise    = 0.03 // of a trend, over the window
	leastStep    = 0.02
	wholeService = "whole service"
)

// Shape says how a method became dearer.
type Shape string

const (
	Trend Shape = "rise"
	Jump  Shape = "step"
)

// Finding is a method that became dearer.
type Finding struct {
	Method string `json:"method"`
	Shape  Shape  `json:"shape"`
	// Change over the 56 days of a trend, or the size of a step, as a share.
	Change float64 `json:"change"`
	// Interval holds Change with about 95% confidence, taken from the test.
	Interval [2]float64 `json:"interval"`
	// P is the one-sided p-value, before the control of false discoveries.
	P float64 `json:"p"`
	// Began is the day of the history on which it began, as well as that can be
	// told: of a step, or of the first change within a trend, else of the window.
	Began int `json:"began"`
	// Confirmed: the look before found it too. Only these are told to people.
	Confirmed bool   `json:"confirmed"`
	Reason    string `json:"reason"`

	points points
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
	found, _, next := look(h, memory)
	return found, next, nil
}

// look also returns what the tests say of each method and of the whole service,
// which comes last.
func look(h *History, memory Memory) ([]Finding, []tested, Memory) {
	if h.Days < leastDays {
		return nil, nil, memory
	}
	from := max(0, h.Days-window)
	names := append(slices.Clone(h.Methods), wholeService)
	var by [statistics][]tested
	for s := range by {
		series := h.series(from, byStatistic[s])
		common := takeCommon(series, h.Days-from)
		for _, y := range append(series, common) {
			by[s] = append(by[s], test(y, (h.Weekday+from)%7))
		}
		poolRho(by[s][:len(h.Methods)]) // the whole service's days are of another kind
	}
	tested := make([]tested, len(names))
	for i := range tested {
		tested[i] = surer(by[cost][i], by[level][i])
	}
	found := detect(names, tested)
	next := Memory{Day: h.Days}
	for i := range found {
		f := &found[i]
		next.Found = append(next.Found, f.Method)
		f.Confirmed = h.Days-memory.Day >= 7 && slices.Contains(memory.Found, f.Method)
		if f.Confirmed { // dating takes a thousand permutations
			f.Began = f.points.began(f.Began)
		}
		f.Began += from
		f.Reason = reason(f, h.Days)
	}
	if h.Days-memory.Day < 7 {
		next = memory
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Change, a.Change) })
	return found, tested, next
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

// detect controls the false discoveries of each test over all methods.
func detect(names []string, all []tested) []Finding {
	trendP, stepP := make([]float64, len(all)), make([]float64, len(all))
	for i, t := range all {
		trendP[i], stepP[i] = t.trendP, t.stepP
	}
	isTrend, isStep := stats.BH(trendP, trendAlpha), stats.BH(stepP, stepAlpha)
	var found []Finding
	for i := range all {
		t := &all[i]
		step, trend := t.asStep(names[i]), t.asTrend(names[i])
		jumped, rose := isStep[i] && step.Change >= leastStep, isTrend[i] && trend.Change >= leastRise
		switch {
		case jumped && (t.stepP <= t.trendP || !rose):
			found = append(found, step)
		case rose:
			found = append(found, trend)
		}
	}
	return found
}

func (t *tested) asStep(name string) Finding {
	f := Finding{Method: name, Shape: Jump, P: t.stepP, points: t.inSteps}
	if t.step.At < len(t.inSteps.days) {
		f.Began = t.inSteps.days[t.step.At]
	}
	f.setChange(t.step.Size, t.step.T)
	return f
}

func (t *tested) asTrend(name string) Finding {
	f := Finding{Method: name, Shape: Trend, P: t.trendP, points: t.inTrend}
	z := 0.0
	if t.trend.Variance > 0 {
		z = t.trend.S / math.Sqrt(t.trend.Variance)
	}
	f.setChange(t.trend.Slope*float64(len(t.inTrend.values)), z)
	return f
}

// setChange takes a change of the logarithm and how many of its standard errors it
// is, of which the interval is made (Miettinen 1976): it excludes 0 just where the
// test does.
func (f *Finding) setChange(size, z float64) {
	f.Change = math.Expm1(size)
	margin := 0.0
	if z != 0 {
		margin = math.Abs(1.96 * size / z)
	}
	f.Interval = [2]float64{math.Expm1(size - margin), math.Expm1(size + margin)}
}

// began is the day of the first change that leads up, otherwise what is known
// without one.
func (p points) began(otherwise int) int {
	values, days := p.values, p.days
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
