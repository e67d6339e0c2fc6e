package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/golden"
)

func TestCharts(t *testing.T) {
	r := sample()
	m := r.Methods[0]
	golden.Check(t, "charts.svg", strings.Join([]string{
		string(costBar(r.Costs[0], 3)), string(costBar(r.Costs[1], 3)), string(changeBar(r.Changes[0], changesScale(r.Changes))),
		string(distributionChart(m)), string(r.historyChart(m)), string(icicle(r.Trees[0])),
	}, "\n")+"\n")
}

// A chart without values is left out. One value, equal values and extreme values are drawn inside the chart.
func TestCharts_FewOrExtremeValues(t *testing.T) {
	r := &Report{zone: time.UTC}
	if spread, course := distributionChart(Method{}), r.historyChart(Method{}); spread != "" || course != "" {
		t.Errorf("%q, %q", spread, course)
	}
	name := query.MethodName{Class: "a", Method: "B"}
	for _, ns := range []float64{0, 1e-9, 5, 1e300} {
		m := Method{MethodName: name, Distributions: []Distribution{{Bins: map[int64]float64{int64(ns) % 100: 1}}}}
		for _, minutes := range []int{0, 90, 100_000} {
			m.History = []History{{Version: "1", Points: []Point{{At: begin, NS: ns}, {At: begin.Add(time.Duration(minutes) * time.Minute), NS: ns, Interval: &[2]float64{0, 10 * ns}}}}}
			for _, chart := range []string{string(distributionChart(m)), string(r.historyChart(m))} {
				if strings.Contains(chart, "NaN") || strings.Contains(chart, "Inf") || strings.Contains(chart, `="-`) || strings.Count(chart, "<svg") != 1 {
					t.Errorf("%g ns, %d minutes: %s", ns, minutes, chart)
				}
			}
		}
	}
}

func TestChangesScale(t *testing.T) {
	move := func(change, low, high float64, proven bool) Change {
		return Change{pairs.Row{Verdict: &evidence.Verdict{ChangePercent: &change, Interval: &[2]float64{low, high}}}, proven}
	}
	small := slices.Repeat([]Change{move(0, 0, 0, false)}, 40)
	for name, c := range map[string]struct {
		changes []Change
		want    scale
	}{
		"none":                         {nil, scale{-1, 1}},
		"not below -100%":              {[]Change{move(150, 120, 180, false)}, scale{-100, 180}},
		"proven changes are inside":    {append(slices.Clone(small), move(500, 400, 5000, true)), scale{-100, 750}},
		"wide intervals are cut":       {append(slices.Clone(small), move(1, -5000, 5000, false)), scale{-1, 1}},
		"the end of a proven interval": {append(slices.Clone(small), move(100, 80, 120, true)), scale{-100, 126}},
	} {
		if got := changesScale(c.changes); math.Abs(got.low-c.want.low) > 1e-9 || math.Abs(got.high-c.want.high) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	s := scale{10, 20}
	for v, want := range map[float64]float64{10: 0, 15: 50, 20: 100, 0: 0, 99: 100} {
		if got := s.position(v); got != want {
			t.Errorf("%g is at %g, want %g", v, got, want)
		}
	}
	if one := (scale{5, 5}); one.position(5) != 50 || one.ticks(4) != nil {
		t.Errorf("of one value: %g, %v", one.position(5), one.ticks(4))
	}
	for _, high := range []float64{1e-6, 0.3, 1, 7, 99, 12345, 1e12} {
		ticks := scale{0, high}.ticks(4)
		if len(ticks) < 2 || len(ticks) > 6 || ticks[0] != 0 || ticks[len(ticks)-1] > high {
			t.Errorf("ticks up to %g: %v", high, ticks)
		}
	}
}

// Buckets keep the points of a history below the limit.
func TestBucketFor(t *testing.T) {
	for span, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 10 * time.Minute: 5 * time.Second, 2 * time.Hour: time.Minute, 24 * time.Hour: 15 * time.Minute, 365 * 24 * time.Hour: 7 * 24 * time.Hour,
	} {
		if got := bucketFor(span); got != want || span > maxPoints*got {
			t.Errorf("%s: %s, want %s", span, got, want)
		}
	}
}

// The name in a box of a tree is as long as its width allows.
func TestIcicle_Names(t *testing.T) {
	tree := Tree{TotalNS: 100, Roots: []*Node{{Name: "shop/web.Serve", NS: 80}, {Name: "shop/cart.Total", NS: 10}, {Name: "shop/tax.Rate", NS: 2}}}
	chart := string(icicle(tree))
	for want, n := range map[string]int{">shop/web.Serve</text>": 1, ">cart.Total</text>": 1, "tax.Rate</text>": 0, "<title>shop/tax.Rate: 2ns, 2.0%</title>": 1} {
		if got := strings.Count(chart, want); got != n {
			t.Errorf("%d times %q, want %d: %s", got, want, n, chart)
		}
	}
}
