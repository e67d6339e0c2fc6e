package corehour

import (
	"math"
	"sync"
	"testing"
)

var sampled = NewMethod("sampled.Method")

// Gaps between chosen calls are geometrically distributed: chi-square over bins of equal probability.
func TestSampling_GapsGeometric(t *testing.T) {
	for _, p := range []float64{0.5, 0.3, 0.1, 0.03, 0.01, 0.001} {
		pl := &plan{settings: settings{rate: p}, logRest: math.Log1p(-p), seed: 1}
		const draws, bins = 200_000, 20
		// Bin edges: the smallest gaps whose cumulative probability reaches k/bins.
		var edges []int64
		for k := 1; k < bins; k++ {
			edges = append(edges, int64(math.Ceil(math.Log1p(-float64(k)/bins)/math.Log1p(-p))))
		}
		observed := map[int]int{}
		mark := int64(0)
		for i := range draws {
			g := pl.gap(pl.draw(uint(i%3), mark))
			if g < 1 {
				t.Fatalf("p = %v: gap %d", p, g)
			}
			mark += g
			bin := 0
			for bin < len(edges) && g > edges[bin] {
				bin++
			}
			observed[bin]++
		}
		chi, freedom := 0.0, -1
		below := int64(0)
		for bin := range bins {
			upper := math.Inf(1)
			if bin < len(edges) {
				upper = float64(edges[bin])
			}
			if float64(below) == upper {
				continue // an edge twice: p is too high for so many bins
			}
			expected := draws * (math.Pow(1-p, float64(below)) - math.Pow(1-p, upper))
			d := float64(observed[bin]) - expected
			chi += d * d / expected
			freedom++
			if bin < len(edges) {
				below = edges[bin]
			}
		}
		// The chi-square quantile of Wilson and Hilferty at 6 standard deviations:
		// wrong once in a billion runs.
		k := float64(freedom)
		if limit := k * math.Pow(1-2/(9*k)+6*math.Sqrt(2/(9*k)), 3); chi > limit {
			t.Errorf("p = %v: chi-square %.1f with %d degrees of freedom, at most %.1f", p, chi, freedom, limit)
		}
	}
}

// The whole path samples correctly, too: it chooses the right share, also when the rate changes all the
// time, and each record has the rate from which its gap was drawn.
func TestSampling_RateOfGap(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.queue = 1 << 15 })
	rates := []float64{0.5, 0.02, 1, 0.1}
	const periods, callsEach = 400, 250
	expected := map[float64]float64{}
	got := map[float64]float64{}
	for i := range periods {
		rate := rates[i%len(rates)]
		force(e, sampled, settings{rate: rate, noCaller: true})
		for range callsEach {
			sampled.Begin().End()
		}
		expected[rate] += callsEach * rate
		for _, r := range e.ring.Dequeue(nil, callsEach) {
			if r.plan.rate != rate {
				t.Fatalf("a record of rate %v while the rate is %v", r.plan.rate, rate)
			}
			got[rate]++
		}
	}
	for _, rate := range rates {
		sd := math.Sqrt(expected[rate] * (1 - rate))
		if z := (got[rate] - expected[rate]) / math.Max(sd, 1e-9); got[rate] != expected[rate] && math.Abs(z) > 5 {
			t.Errorf("rate %v: %v of %v expected records, z = %.1f", rate, got[rate], expected[rate], z)
		}
	}
}

// The share is right for many goroutines on few and many counters.
func TestSampling_ShareUnderContention(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.queue = 1 << 16 })
	for _, shards := range []int{0, 8} {
		if shards > 0 {
			registry.mu.Lock()
			sampled.shardCounters(shards)
			registry.mu.Unlock()
		}
		const p, goroutines, each = 0.05, 8, 25_000
		force(e, sampled, settings{rate: p, noCaller: true})
		var running sync.WaitGroup
		for range goroutines {
			running.Go(func() {
				for range each {
					sampled.Begin().End()
				}
			})
		}
		running.Wait()
		n := float64(len(e.ring.Dequeue(nil, 1<<16)))
		const mean = p * goroutines * each
		if z := (n - mean) / math.Sqrt(mean*(1-p)); math.Abs(z) > 5 {
			t.Errorf("%d shards: %v records, %v expected, z = %.1f", shards, n, mean, z)
		}
	}
}

// A probe does not allocate if it is off, if its call is not chosen, or if the call is timed.
func TestProbes_NoAllocation(t *testing.T) {
	if raceEnabled {
		return // the race detector makes sync.Pool forget on purpose
	}
	m := NewMethod("sampled.Allocating")
	check := func(what string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(2000, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	call := func() { m.Begin().End() }
	check("before Start", call)
	e, _ := startWith(t, func(c *config) {})
	var one [1]record
	take := func() { call(); e.ring.Dequeue(one[:0], 1) }
	for what, s := range map[string]settings{
		"off":             {mode: Off},
		"never chosen":    {rate: 0, cpuRate: 1},
		"seldom chosen":   {rate: 0.01, cpuRate: 1},
		"wall":            {rate: 1, noCaller: true},
		"wall, caller":    {rate: 1},
		"wall, CPU":       {rate: 1, cpuRate: 1},
		"aggregate":       {mode: Aggregate, rate: 0},
		"aggregate, some": {mode: Aggregate, rate: 0.1, cpuRate: 1},
	} {
		force(e, m, s)
		check(what, take)
	}
	force(e, m, settings{rate: 1, noCaller: true})
	for range len(e.ring.Places) {
		call()
	}
	check("full queue", call)
}
