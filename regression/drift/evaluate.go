package drift

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/corehour/corehour/regression/stats"
)

const (
	window    = 56 // days evaluated
	lookBack  = 56 // days before the window; they give the level before its beginning
	fullDays  = 42 // fewer days have less power; the status reports this
	leastSide = 7  // minimum number of days on either side of a step
	leastFall = 14 // minimum number of days after a fall, so that a week of holidays is not one
	// False discovery rates of one evaluation. A drift confirmed by nine consecutive evaluations is false less often.
	trendAlpha   = 0.10
	stepAlpha    = 0.05
	leastRise    = 0.03 // of a trend, over the window
	leastStep    = 0.02
	wholeService = "whole service"

	// With fewer methods than fewMethods the level is reduced in proportion. Below commonMethods it is also
	// multiplied by singleShare, because so few methods do not give a pooled estimate of the autocorrelation.
	fewMethods  = 30
	singleShare = 0.1
)

// LeastDays is the minimum number of days with a value in the window of an evaluation.
const LeastDays = 21

// Shape is the form of a change: a trend or a step.
type Shape string

const (
	Trend Shape = "rise"
	Fall  Shape = "fall" // a trend downwards
	Jump  Shape = "step"
)

// Finding is a change of one method: more expensive or cheaper.
type Finding struct {
	Method string
	Shape  Shape
	// Change is the relative change over the 56 days of a trend, or the relative size of a step. A negative value
	// is an improvement. If Linear is set, the values are compared by differences and Change is a difference.
	Change float64
	Linear bool
	// Interval is the confidence interval of Change, about 95%, derived from the test.
	Interval [2]float64
	// Measured is the change including CommonPart, the change that all methods share.
	// CommonReason explains why no common part was subtracted; empty if it was.
	Measured     float64
	CommonPart   float64
	CommonReason string
	// Few is set if most days have few records.
	Few bool
	// P is the one-sided p-value before the control of the false discovery rate.
	P float64
	// Began is the estimated day of the history on which the change began: the day of the largest step, the first
	// change within a trend, or else the first day of the window.
	Began int

	points points
	from   int // the first day of the window
}

// Evaluate returns the findings of one evaluation of the last 56 days. They can be due to chance: Replay reports
// only findings of nine consecutive evaluations.
func Evaluate(h *History) ([]Finding, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	found, _ := evaluate(h)
	return found, nil
}

// Directions of a change.
const (
	up int = iota
	down
	directions
)

// method holds the test results of a method, by direction.
type method struct {
	tested [directions]testResult
	scale  float64 // mean absolute value of a linear method, 0 for others
	few    bool    // few records on most days
	reason string  // why no common part was subtracted
}

// evaluate returns the findings and the test results of each method. The last element of methods is the whole
// service.
func evaluate(h *History) (found []Finding, methods []method) {
	if h.Days < LeastDays {
		return nil, nil
	}
	from := max(0, h.Days-window)
	names := append(slices.Clone(h.Methods), wholeService)
	methods = h.test(from)
	for direction := range directions {
		for _, f := range detect(names, methods, direction) {
			f.Began += from
			f.from = from
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Change, a.Change) })
	return found, methods
}

// test tests all methods, then the whole service.
func (h *History) test(from int) []method {
	out := make([]method, len(h.Methods)+1)
	var by [statistics][][directions]testResult
	var running sync.WaitGroup
	for s := range by {
		running.Go(func() {
			var reason string
			if by[s], reason = h.testBy(byStatistic[s], from); s != level {
				return
			}
			for m := range h.Methods {
				if !h.linear(int32(m)) {
					out[m].reason = reason
				}
			}
		})
	}
	running.Wait()
	scales, records := h.scales(from)
	for m := range out {
		for direction := range directions {
			out[m].tested[direction] = moreSignificant(by[cost][m][direction], by[level][m][direction])
		}
		if m < len(h.Methods) {
			out[m].scale, out[m].few = scales[m], records[m] < FewRecords
		}
	}
	return out
}

// testBy tests all methods and the whole service by one statistic. reason explains why no common part was
// subtracted.
func (h *History) testBy(of statistic, from int) (by [][directions]testResult, reason string) {
	back := max(0, from-lookBack)
	series := h.series(back, from, of)
	for _, y := range series {
		removeWeekdays(y, from-back)
	}
	shared := findCommon(series, func(m int) bool { return !h.linear(int32(m)) }, from-back)
	by = make([][directions]testResult, len(series)+1)
	for m, y := range append(series, shared.level) {
		own := y
		if m < len(series) && !h.linear(int32(m)) {
			own = shared.subtractFrom(m, y)
		}
		by[m] = testBoth(own, y, from-back)
	}
	for direction := range directions {
		all := make([]testResult, len(series))
		for m := range all {
			all[m] = by[m][direction]
		}
		poolRho(all)
		for m := range all {
			by[m][direction] = all[m]
		}
		by[len(series)][direction].pooled(&pool{}, &pool{}) // not pooled: the noise of the whole service differs from that of a method
	}
	return by, shared.reason
}

// testBoth tests for a rise, without temporary dips, and for a fall, without temporary rises.
func testBoth(own, whole []float64, from int) (out [directions]testResult) {
	rising, falling := slices.Clone(own), make([]float64, len(own))
	for d := range own {
		falling[d] = -own[d]
	}
	dips, bumps := leaveOutDips(rising, from), leaveOutDips(falling, from)
	out[up] = test(pointsOf(rising[from:], whole[from:]))
	if !dips && !bumps {
		out[down] = out[up].negated()
		return out
	}
	p := pointsOf(falling[from:], whole[from:])
	for i := range p.whole {
		p.whole[i] = -p.whole[i]
	}
	out[down] = test(p)
	return out
}

// scales returns, by method, the mean absolute value (0 for methods that are not linear) and the median number of
// records per day.
func (h *History) scales(from int) (scales, records []float64) {
	type sums struct{ values, weight float64 }
	all, byDay := make([]sums, len(h.Methods)), make([]map[int32]float64, len(h.Methods))
	for i := range h.Rows {
		r := &h.Rows[i]
		if int(r.Day) < from || int(r.Day) >= h.Days || !h.usable(r) {
			continue
		}
		if h.linear(r.Method) {
			all[r.Method].values += math.Abs(r.Capped)
			all[r.Method].weight += r.Weight
		}
		if byDay[r.Method] == nil {
			byDay[r.Method] = map[int32]float64{}
		}
		byDay[r.Method][r.Day] += r.Records
	}
	scales, records = make([]float64, len(h.Methods)), make([]float64, len(h.Methods))
	for m := range scales {
		if all[m].weight > 0 {
			scales[m] = all[m].values / all[m].weight
		}
		records[m] = stats.Median(slices.Collect(maps.Values(byDay[m])))
	}
	return scales, records
}

// detect controls the false discovery rate of each test over all methods in one direction. Services with few
// methods need stronger evidence. Otherwise a service of one method would get as many false findings as a
// service of many.
func detect(names []string, all []method, direction int) []Finding {
	share := levelShare(len(all) - 1)
	trendP, stepP, few := make([]float64, len(all)), make([]float64, len(all)), make([]bool, len(all))
	for i := range all {
		t := &all[i].tested[direction]
		trendP[i], stepP[i], few[i] = t.trendP, t.stepP, all[i].few
		if n := float64(len(t.inTrend.values)); n > 0 && n < fullDays {
			// With few days the autocorrelation is poorly known.
			trendP[i], stepP[i] = min(1, trendP[i]*fullDays/n*fullDays/n), min(1, stepP[i]*fullDays/n*fullDays/n)
		}
	}
	isTrend, isStep := discoveries(trendP, few, trendAlpha*share), discoveries(stepP, few, stepAlpha*share)
	var found []Finding
	for i := range all {
		m := &all[i]
		t := &m.tested[direction]
		if direction == down && t.step.At > len(t.inSteps.values)-leastFall {
			continue
		}
		scale := func(size, least float64) bool { // a linear method needs a share of its mean
			if m.scale > 0 {
				return size >= least*m.scale
			}
			return size >= math.Log1p(least)
		}
		jumped := isStep[i] && scale(t.step.Size, leastStep)
		rose := isTrend[i] && scale(t.rise(), leastRise)
		switch {
		case jumped && (t.stepFits || !rose):
			found = append(found, m.asStep(names[i], direction))
		case rose:
			found = append(found, m.asTrend(names[i], direction))
		}
	}
	return found
}

// discoveries applies Benjamini and Hochberg. For methods with few records it ignores the other methods that are
// significant by Bonferroni. Otherwise a true drift, found again by every evaluation, would raise the threshold and
// let false findings pass in each.
func discoveries(p []float64, few []bool, alpha float64) []bool {
	found, rest := stats.BH(p, alpha), slices.Clone(p)
	for i := range rest {
		if p[i] <= alpha/float64(len(p)) {
			rest[i] = 1
		}
	}
	for i, is := range stats.BH(rest, alpha) {
		found[i] = found[i] && (is || !few[i] || p[i] <= alpha/float64(len(p)))
	}
	return found
}

// levelShare returns the part of the significance level that a service with this number of methods gets.
func levelShare(methods int) float64 {
	share := min(1, float64(methods)/fewMethods)
	if methods < commonMethods {
		share *= singleShare
	}
	return share
}

// rise returns the rise of the trend over the window.
func (t *testResult) rise() float64 { return t.trend.Slope * float64(len(t.inTrend.values)) }

func (m *method) asStep(name string, direction int) Finding {
	t := &m.tested[direction]
	f := Finding{Method: name, Shape: Jump, P: t.stepP, points: t.inSteps}
	if t.step.At < len(t.inSteps.days) {
		f.Began = t.inSteps.days[t.step.At]
	}
	whole, margin := 0.0, 0.0
	if at := t.step.At; at > 0 {
		whole = meanOf(t.inSteps.whole[at:]) - meanOf(t.inSteps.whole[:at])
		margin = stats.Estimate{SE: t.step.SE(), DF: t.step.DF}.Margin(0.95)
	}
	m.setChange(&f, direction, t.step.Size, whole, margin)
	return f
}

// asTrend returns the finding of a trend. Its interval is test-based (Miettinen 1976): computed from the change and
// its number of standard errors, it excludes 0 exactly where the test is significant.
func (m *method) asTrend(name string, direction int) Finding {
	t := &m.tested[direction]
	f := Finding{Method: name, Shape: Trend, P: t.trendP, points: t.inTrend}
	if direction == down {
		f.Shape = Fall
	}
	margin, whole := 0.0, 0.0
	if t.trend.Variance > 0 && t.trend.S != 0 {
		margin = math.Abs(1.96 * t.rise() / (t.trend.S / math.Sqrt(t.trend.Variance)))
	}
	if n := len(t.inTrend.whole); n > 1 {
		whole = stats.TheilSen(t.inTrend.whole) * float64(n)
	}
	m.setChange(&f, direction, t.rise(), whole, margin)
	return f
}

// setChange sets the changes of f. size, whole and margin are logarithms, or values for a linear method.
func (m *method) setChange(f *Finding, direction int, size, whole, margin float64) {
	low, high := size-margin, size+margin
	if direction == down {
		size, whole, low, high = -size, -whole, -high, -low
	}
	f.Change, f.Interval, f.Measured, f.CommonPart = size, [2]float64{low, high}, whole, whole-size
	f.CommonReason, f.Few = m.reason, m.few
	if f.Linear = m.scale > 0; !f.Linear {
		f.Change, f.Interval = math.Expm1(size), [2]float64{math.Expm1(low), math.Expm1(high)}
		f.Measured, f.CommonPart = math.Expm1(whole), math.Expm1(whole-size)
	}
}

// date sets Began to the most significant change of a step, or to the first rise of a trend. Without a rise,
// Began is unchanged. It runs a thousand permutations, so it is called only for findings that need a date.
func (f *Finding) date() {
	values, days := f.points.values, f.points.days
	f.points = points{}
	changes := stats.DateChanges(values)
	most := 0.0
	for i, at := range changes {
		from, to := 0, len(values)
		if i > 0 {
			from = changes[i-1]
		}
		if i+1 < len(changes) {
			to = changes[i+1]
		}
		rise := stats.Median(values[at:to]) - stats.Median(values[from:at])
		if rise > 0 && f.Shape != Jump {
			f.Began = f.from + days[at]
			return
		}
		before, after := float64(at-from), float64(to-at)
		if sure := rise * math.Sqrt(before*after/(before+after)); sure > most {
			f.Began, most = f.from+days[at], sure
		}
	}
}
