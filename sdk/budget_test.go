package corehour

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Default rates are lowered to the affordable number, the busiest first. Counts and estimates stay right.
func TestBudget_LowersDefaultRates(t *testing.T) {
	c := &collector{}
	busy, seldom, chosen := NewMethod("shop/budget.Busy"), NewMethod("shop/budget.Seldom"), NewMethod("shop/budget.Chosen", Rate(0.5))
	_, stop := start(t, WithHTTPClient(c.client()), WithSample(0.5), WithCPURate(0))
	call := func(m *Method, times int) {
		for range times {
			m.Begin().End()
		}
	}
	before := busy.Calls()
	for begun := time.Now(); time.Since(begun) < 1500*time.Millisecond; {
		call(busy, 10_000)
		call(seldom, 1)
		call(chosen, 100)
		time.Sleep(time.Millisecond)
	}
	if rate := busy.plan.Load().rate; rate > 0.125 || math.Mod(math.Log2(rate), 1) != 0 {
		t.Errorf("the busy method has the rate %g", rate)
	}
	if n := Stats().RatesLowered; n != 1 {
		t.Errorf("the rates of %d methods gave way, want 1", n)
	}
	if rate := seldom.plan.Load().rate; rate != 0.5 {
		t.Errorf("a method with few calls has the rate %g", rate)
	}
	if rate := chosen.plan.Load().rate; rate != 0.5 {
		t.Errorf("the rate that the code gives a method became %g", rate)
	}
	for begun := time.Now(); busy.plan.Load().rate != 0.5 && time.Since(begun) < 10*time.Second; {
		time.Sleep(100 * time.Millisecond)
	}
	if rate := busy.plan.Load().rate; rate != 0.5 {
		t.Errorf("a method that is no longer busy has the rate %g", rate)
	}
	stop()

	calls, timed, variance := 0.0, 0.0, 0.0 // estimates for the busy method from its measurements
	for _, kind := range []string{"call", "aggregate"} {
		for _, s := range c.spans(t, kind) {
			if s.name != busy.Name() {
				continue
			}
			n, p := 1.0, s.attrs["corehour.p"].(float64)
			if kind == "aggregate" {
				n = float64(s.attrs["corehour.measured"].(int64))
			}
			calls, timed, variance = calls+n/p, timed+n, variance+n*(1-p)/(p*p)
		}
	}
	counted := float64(busy.Calls() - before)
	if timed > counted/6 {
		t.Errorf("%.0f of %.0f calls were timed", timed, counted)
	}
	if math.Abs(calls-counted) > 5*math.Sqrt(variance) {
		t.Errorf("measurements stand for %.0f calls, %.0f were counted; the standard error is %.0f", calls, counted, math.Sqrt(variance))
	}
}

// No method is limited while all are affordable together, and methods with few records never are.
func TestFairShare_MaxMin(t *testing.T) {
	for _, test := range []struct {
		wanted []float64
		want   float64
	}{
		{nil, math.Inf(1)},
		{[]float64{affordable}, math.Inf(1)},
		{[]float64{3 * affordable}, affordable},
		{[]float64{affordable, 0, affordable}, affordable / 2},
		{[]float64{100 * affordable, affordable / 4, affordable / 4, 100 * affordable}, affordable / 4},
	} {
		if got := fairShare(slices.Clone(test.wanted)); got != test.want {
			t.Errorf("fairShare(%v) = %g, want %g", test.wanted, got, test.want)
		}
	}
	for times, want := range map[float64]int{0: 0, 1: 0, 1.01: 1, 2: 1, 2.01: 2, 4: 2, 1e30: mostHalvings} {
		if got := halvingsOf(times); got != want {
			t.Errorf("halvingsOf(%g) = %d, want %d", times, got, want)
		}
	}
}

// A rate of 1 asks for every call.
func TestBudget_KeepsRateOne(t *testing.T) {
	m := NewMethod("shop/budget.Every")
	start(t, WithHTTPClient((&collector{}).client()), WithSample(1), WithCPURate(0))
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {
		for range 1000 {
			m.Begin().End()
		}
	}
	if rate := m.plan.Load().rate; rate != 1 {
		t.Errorf("the rate 1 became %g", rate)
	}
}

// A lowered rate stays above the file's min, and above the lowest rate that can be stored.
func TestBudget_KeepsFileBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "methods.json")
	if err := os.WriteFile(path, []byte(`{"version": 1, "defaults": {"min": 0.002}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]float64{"": leastRate, path: 0.002} {
		t.Setenv("COREHOUR_METHODS", file)
		m := NewMethod("shop/budget.Least")
		e, stop := start(t, WithHTTPClient((&collector{}).client()), WithSample(0.01))
		registry.mu.Lock()
		m.halvings = mostHalvings
		e.updatePlan(m)
		registry.mu.Unlock()
		if got := m.plan.Load().rate; got != want {
			t.Errorf("with the file %q the rate is %g, want %g", file, got, want)
		}
		stop()
	}
}
