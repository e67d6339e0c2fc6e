package corehour

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
)

var tailed = NewMethod("tailed.Method", Tail(), Rate(0.2), CPURate(1))

// With a tail, every call above the threshold at its beginning is kept at p = 1, and others by chance. The
// estimate of the total is right, and much more precise than with chance alone.
func TestTail_Kept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		registry.mu.Lock()
		tailed.tailFrom = never // undoes earlier runs
		registry.mu.Unlock()
		_, stop := start(t, WithHTTPClient(c.client()))
		random := rand.New(rand.NewPCG(5, 6))
		// Calls of some milliseconds with a Pareto tail, shape 1.5. None holds its thread long enough
		// for the method to be timed by the wall only.
		const calls = 60_000
		truth, mustKeep := 0.0, 0
		thresholds := map[int64]bool{}
		for range calls {
			lasting := time.Duration(float64(time.Millisecond) * math.Pow(1-random.Float64(), -1/1.5))
			lasting = min(lasting, cpuslots.Patience*3/4)
			threshold := tailed.plan.Load().tailFrom
			thresholds[threshold] = true
			call := tailed.Begin()
			time.Sleep(lasting)
			call.End()
			truth += float64(lasting)
			if int64(lasting) >= threshold {
				mustKeep++
			}
		}
		stop()

		kept, keptSum, others, otherSum := 0, 0.0, 0, 0.0
		for _, s := range c.spans(t, "call") {
			wall := float64(s.end - s.start)
			if s.text("corehour.stratum") == "tail" {
				kept++
				keptSum += wall
				if s.double("corehour.p") != 1 || s.traceState != "ot=th:0" {
					t.Fatalf("a tail record of p %v, trace state %q", s.double("corehour.p"), s.traceState)
				}
				if p := s.double("corehour.cpu.p"); p > 0.2 || p <= 0 {
					t.Fatalf("cpu_p %v of a tail record", p)
				}
				continue
			}
			others++
			otherSum += wall
			if s.double("corehour.p") != 0.2 {
				t.Fatalf("p %v", s.double("corehour.p"))
			}
			checkTraceState(t, s.traceState, 0.2)
		}
		if kept != mustKeep {
			t.Errorf("%d kept of %d above the threshold", kept, mustKeep)
		}
		if share := float64(kept) / calls; share > 0.01 || share < 0.0002 || len(thresholds) < 3 {
			t.Errorf("%d of %d calls kept, %d thresholds", kept, calls, len(thresholds))
		}
		estimate := keptSum + float64(calls-kept)*otherSum/float64(others)
		// Its standard error is 2% of the truth.
		if d := estimate/truth - 1; math.Abs(d) > 0.1 {
			t.Errorf("estimated %.3g ns of %.3g, %.1f%% off", estimate, truth, 100*d)
		}
	})
}

func TestTail_ThresholdAdapts(t *testing.T) {
	for _, c := range []struct{ threshold, calls, above, longest, least, most int64 }{
		{never, 100_000, 0, 0, never, never},        // nothing seen yet
		{never, 100_000, 0, 5000, 5000, 5000},       // the longest of the first interval
		{5000, 0, 0, 0, 5000, 5000},                 // no calls, no news
		{5000, 60_000, 60, 0, 5000, 5000},           // as wanted
		{5000, 60_000, 100_000, 0, 20_000, 20_000},  // far too many: at once, but at most fourfold
		{5000, 60_000, 240, 0, 5001, 15_000},        // too many
		{5000, 60_000, 10, 0, 1000, 4999},           // too few
		{5000, 10, 0, 0, 1000, 4999},                // seldom called
		{never - 1, 1000, 1 << 40, 0, never, never}, // no overflow
		{1, 1000, 0, 0, 1, 1},                       // no zero
		{5000, 100_000_000, 200, 0, 5001, 15_000},   // never more than the most wanted
	} {
		got := nextThreshold(c.threshold, c.calls, c.above, c.longest)
		if got < c.least || got > c.most {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
