package drift

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// tested is what both tests say of one method.
type tested struct {
	trend            stats.Trend
	step             stats.Step
	trendP, stepP    float64
	inTrend, inSteps points
}

// points are the values of a series and their days in the window.
type points struct {
	values []float64
	days   []int
}

// test applies both tests to a series.
func test(y []float64, weekday int) tested {
	t := tested{trendP: 1, stepP: 1}
	var p points
	p.values, p.days = takeWeekdays(y, weekday)
	if len(p.values) < leastDays {
		return t
	}
	t.inTrend, t.inSteps = p, p
	t.trend = stats.MannKendall(p.values)
	t.trendP = t.trend.P
	if s, ok := stats.StepScan(p.values, leastSide); ok {
		t.step, t.stepP = s, s.P
	}
	return t
}

// poolRho tests trends again with autocorrelations that are drawn together. That of one
// method is hardly known from eight weeks, and taking the negative ones for 0 makes
// chance look larger than it is in all of them. What methods really differ by is what
// their estimates do beyond their own errors, 1/n.
func poolRho(methods []tested) {
	rho := make([]float64, len(methods))
	var sum, squares, errors, seen float64
	for i := range methods {
		n := float64(len(methods[i].inTrend.values))
		if n == 0 {
			continue
		}
		rho[i] = methods[i].trend.Rho
		rho[i] += (2 + 4*rho[i]) / n // the line was taken off, as with steps
		sum, squares, errors, seen = sum+rho[i], squares+rho[i]*rho[i], errors+1/n, seen+1
	}
	if seen < commonMethods {
		return
	}
	mean := sum / seen
	between := math.Max(0, squares/seen-mean*mean-errors/seen)
	for i := range methods {
		t := &methods[i]
		if n := float64(len(t.inTrend.values)); n > 0 {
			t.trend = t.trend.With(mean + between/(between+1/n)*(rho[i]-mean))
			t.trendP = t.trend.P
		}
	}
}

// leastWeight is that of the statistic which is known worse.
const leastWeight = 0.1

// surer keeps, of two statistics, what is surer by each test. That there are two is paid
// for by dividing each p-value by its weight (Bonferroni, weighted as by Genovese,
// Roeder and Wasserman 2006). The weights add up to 1 and follow from what days differ
// by beside the trend, whatever the trend is.
func surer(costs, levels tested) tested {
	ofLevel := 0.5
	if a, b := math.Pow(costs.trend.Spread, 4), math.Pow(levels.trend.Spread, 4); a+b > 0 {
		ofLevel = min(max(a/(a+b), leastWeight), 1-leastWeight)
	}
	weigh := func(t tested, weight float64) tested {
		t.trendP, t.stepP = min(1, t.trendP/weight), min(1, t.stepP/weight)
		return t
	}
	t, o := weigh(costs, 1-ofLevel), weigh(levels, ofLevel)
	if o.trendP < t.trendP {
		t.trend, t.trendP, t.inTrend = o.trend, o.trendP, o.inTrend
	}
	if o.stepP < t.stepP {
		t.step, t.stepP, t.inSteps = o.step, o.stepP, o.inSteps
	}
	return t
}
