package drift

import (
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

// testResult holds the results of both tests for one method in one direction.
type testResult struct {
	trend            stats.Trend
	step             stats.Step
	trendP, stepP    float64
	inTrend, inSteps points
	stepFits         bool // a step leaves a smaller residual than a line
}

// points holds the values of a series and their days in the window. whole holds the values including the common
// part.
type points struct {
	values, whole []float64
	days          []int
}

// pointsOf returns the days with a value.
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

// test runs both tests for a rise.
func test(p points) testResult {
	t := testResult{trendP: 1, stepP: 1}
	if len(p.values) < LeastDays {
		return t
	}
	t.trend = stats.MannKendall(p.values)
	t.scan(p)
	return t
}

// negated returns the tests for a fall.
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

// cautiousFew and cautiousMany are the numbers of standard errors added to an estimated autocorrelation, for few
// and for many series. An autocorrelation that is too small causes more errors than one that is too large
// prevents. With few series the standard error itself is poorly known.
const cautiousFew, cautiousMany = 1.0, 0.6

// poolRho repeats the tests with autocorrelations shrunk towards their mean. Eight weeks of one method give only
// a poor estimate of its own.
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

// pool shrinks autocorrelations towards their mean. The true variance between series is the variance of the
// estimates minus their sampling variance, 1/n.
type pool struct{ sum, squares, errors, n float64 }

func (p *pool) addRho(rho float64, n int) {
	if n > 0 {
		rho = stats.Unbiased(rho, n)
		p.sum, p.squares, p.errors, p.n = p.sum+rho, p.squares+rho*rho, p.errors+1/float64(n), p.n+1
	}
}

// shrink returns the pooled autocorrelation of one series and its standard error.
func (p *pool) shrink(rho float64, n int) (value, se float64) {
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
	value, se := p.shrink(rho, n)
	few := min(1, commonMethods/max(1, p.n))
	return value + (cautiousMany+few*(cautiousFew-cautiousMany))*se
}

// leastWeight is the minimum weight of the less precise statistic.
const leastWeight = 0.1

// moreSignificant keeps, for each test, the more significant of two statistics. To correct for two tests, each p-value is
// divided by its weight (Bonferroni, weighted as by Genovese, Roeder and Wasserman 2006). The weights add up to 1.
// They depend on the spread of the days around the trend and not on the trend itself.
func moreSignificant(costs, levels testResult) testResult {
	if slices.Equal(costs.inTrend.values, levels.inTrend.values) {
		return costs // the statistics are identical
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
