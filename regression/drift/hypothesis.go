package drift

import (
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

// testResult is what both tests say of one method, in one direction.
type testResult struct {
	trend            stats.Trend
	step             stats.Step
	trendP, stepP    float64
	inTrend, inSteps points
	stepFits         bool // a step leaves less than a line does
}

// points are the values of a series and their days in the window. whole are the values
// with what is common.
type points struct {
	values, whole []float64
	days          []int
}

// pointsOf are the days with a value.
func pointsOf(y, whole []float64) (p points) {
	for d, v := range y {
		if !math.IsNaN(v) {
			p.values, p.whole, p.days = append(p.values, v), append(p.whole, whole[d]), append(p.days, d)
		}
	}
	return p
}

func (p points) negated() points {
	out := points{values: make([]float64, len(p.values)), whole: make([]float64, len(p.whole)), days: p.days}
	for i := range p.values {
		out.values[i], out.whole[i] = -p.values[i], -p.whole[i]
	}
	return out
}

// test applies both tests for a rise.
func test(p points) testResult {
	t := testResult{trendP: 1, stepP: 1}
	if len(p.values) < LeastDays {
		return t
	}
	t.trend = stats.MannKendall(p.values)
	t.scan(p)
	return t
}

// negated are the tests for a fall.
func (t *testResult) negated() testResult {
	out := testResult{trendP: 1, stepP: 1}
	if len(t.inTrend.values) > 0 {
		out.trend = t.trend.Negated()
		out.scan(t.inTrend.negated())
	}
	return out
}

func (t *testResult) scan(p points) {
	t.inTrend, t.inSteps = p, p
	t.trendP = t.trend.P
	if s, ok := stats.StepScan(p.values, leastSide); ok {
		t.step, t.stepP = s, s.P
		t.stepFits = s.Squares < t.trend.Spread*t.trend.Spread*float64(len(p.values))
	}
}

// autocorrelation that is used is larger than the one that was estimated by so many of
// its standard errors: a test is wrong more often where it is taken too small than it
// is right more often where it is taken too large. Of few series the standard error is hardly
// known itself, of many it is.
const cautiousFew, cautiousMany = 1.0, 0.6

// poolRho tests again with autocorrelations that are drawn together. That of one
// method is hardly known from eight weeks.
func poolRho(methods []testResult) {
	var trends, steps pool
	for i := range methods {
		t := &methods[i]
		trends.addRho(t.trend.Rho, len(t.inTrend.values))
		if t.step.At > 0 {
			steps.addRho(t.step.Rho, len(t.inSteps.values))
		}
	}
	for i := range methods {
		methods[i].pooled(&trends, &steps)
	}
}

func (t *testResult) pooled(trends, steps *pool) {
	if n := len(t.inTrend.values); n > 0 {
		t.trend = t.trend.With(trends.cautious(t.trend.Rho, n))
		t.trendP = t.trend.P
	}
	if t.step.At > 0 {
		t.step = t.step.With(steps.cautious(t.step.Rho, len(t.inSteps.values)))
		t.stepP = t.step.P
	}
}

// pool draws autocorrelations together: what series really differ by is what their
// estimates do beyond their own errors, 1/n.
type pool struct{ sum, squares, errors, n float64 }

func (p *pool) addRho(rho float64, n int) {
	if n > 0 {
		rho = stats.Unbiased(rho, n)
		p.sum, p.squares, p.errors, p.n = p.sum+rho, p.squares+rho*rho, p.errors+1/float64(n), p.n+1
	}
}

// of is the autocorrelation of one series and its standard error.
func (p *pool) of(rho float64, n int) (value, se float64) {
	rho = stats.Unbiased(rho, n)
	own := 1 / float64(n)
	if p.n < commonMethods {
		return rho, math.Sqrt(own)
	}
	mean := p.sum / p.n
	between := math.Max(0, p.squares/p.n-mean*mean-p.errors/p.n)
	known := between / (between + own)
	return mean + known*(rho-mean), math.Sqrt(known*own + (1-known)*(1-known)*(between+own)/p.n)
}

func (p *pool) cautious(rho float64, n int) float64 {
	value, se := p.of(rho, n)
	few := min(1, commonMethods/max(1, p.n))
	return value + (cautiousMany+few*(cautiousFew-cautiousMany))*se
}

// leastWeight is that of the statistic which is known worse.
const leastWeight = 0.1

// surer keeps, of two statistics, what is surer by each test. That there are two is paid
// for by dividing each p-value by its weight (Bonferroni, weighted as by Genovese,
// Roeder and Wasserman 2006). The weights add up to 1 and follow from what days differ
// by around the trend, whatever the trend is.
func surer(costs, levels testResult) testResult {
	if slices.Equal(costs.inTrend.values, levels.inTrend.values) {
		return costs // there is one
	}
	ofLevel := 0.5
	if a, b := math.Pow(costs.trend.Spread, 4), math.Pow(levels.trend.Spread, 4); a+b > 0 {
		ofLevel = min(max(a/(a+b), leastWeight), 1-leastWeight)
	}
	weigh := func(t testResult, weight float64) testResult {
		t.trendP, t.stepP = min(1, t.trendP/weight), min(1, t.stepP/weight)
		return t
	}
	t, o := weigh(costs, 1-ofLevel), weigh(levels, ofLevel)
	if o.trendP < t.trendP {
		t.trend, t.trendP, t.inTrend = o.trend, o.trendP, o.inTrend
	}
	if o.stepP < t.stepP {
		t.step, t.stepP, t.inSteps, t.stepFits = o.step, o.stepP, o.inSteps, o.stepFits
	}
	return t
}
