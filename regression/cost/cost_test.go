package cost

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

func compute(t *testing.T, root string) (*Table, map[string]*Line) {
	t.Helper()
	w, err := query.Open(context.Background(), root, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Compute(context.Background(), w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*Line{}
	for i := range r.Methods {
		m := &r.Methods[i]
		byName[methodspan.Function{Class: m.Class, Method: m.Method}.Full()] = m
	}
	return r, byName
}

func full(name string) string { return methodspan.ParseFunction(name).Full() }

func near(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is not known, want %v", what, want)
	} else if math.Abs(*got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

// If everything is measured, the figures are exact.
func TestCost_FullyMeasuredExact(t *testing.T) {
	shop := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 30, Requests: 20}
	items, truth := shop.Run()
	r, methods := compute(t, fixture.Write(t, items))
	process := 0.0
	for name, own := range truth.OwnNS {
		m := methods[full(name)]
		near(t, name+" self", m.SelfCoreHours, own/nsPerCoreHour, 5e-5)
		near(t, name+" inclusive", m.InclusiveCoreHours, truth.AllNS[name]/nsPerCoreHour, 5e-5)
		near(t, name+" dollars", m.SelfUSD, own/nsPerCoreHour*0.05, 5e-5)
		near(t, name+" calls", &m.Calls, float64(truth.Calls[name]), 1e-12)
		near(t, name+" a day", m.SelfUSDPerDay, own/nsPerCoreHour*0.05*48, 5e-5)
		near(t, name+" wall", m.WallNSPerCall, 2*truth.AllNS[name]/float64(truth.Calls[name]), 1e-4)
		if m.Uncertain {
			t.Errorf("%s is called uncertain: %s", name, m.Why)
		}
		process += own
	}
	s := r.Services[0]
	near(t, "process CPU", s.ProcessCoreHours, 1.25*process/nsPerCoreHour, 5e-5)
	near(t, "unattributed", s.UnattributedCoreHours, 0.25*process/nsPerCoreHour, 1e-4)
	near(t, "unattributed dollars", s.UnattributedUSD, 0.25*process/nsPerCoreHour*0.05, 1e-4)
	near(t, "share", methods[full(fixture.Serve)].ShareOfProcessCPU, truth.OwnNS[fixture.Serve]/1.25/process, 5e-5)
	if r.Methods[0].Method != "Serve" {
		t.Errorf("the most expensive method is %s", r.Methods[0].Method)
	}
}

// With sampling, self costs differ from the truth by about their standard errors, and the sums reconcile.
func TestCost_SampledUnbiased(t *testing.T) {
	fixture.SkipRaced(t)
	var z []float64
	for seed := range uint64(8) {
		shop := fixture.Shop{
			Seed: seed, Version: "1", Instances: []string{"a", "b", "c"}, Start: fixture.Start, Minutes: 40, Requests: 60,
			Rate: map[string]float64{fixture.Total: 0.2, fixture.Rate: 0.1, fixture.Log: 0.2}, CPURate: 0.5, CallerLookups: 0.7,
		}
		items, truth := shop.Run()
		r, methods := compute(t, fixture.Write(t, items))
		sum := 0.0
		for name, own := range truth.OwnNS {
			m := methods[full(name)]
			if m.SelfCoreHours == nil || m.SelfCoreHoursSE == nil {
				t.Fatalf("%s has no cost", name)
			}
			sum += *m.SelfCoreHours
			z = append(z, (*m.SelfCoreHours-own/nsPerCoreHour) / *m.SelfCoreHoursSE)
		}
		s := r.Services[0]
		near(t, "sum of self costs", &s.AttributedCoreHours, sum, 1e-9)
		near(t, "all lines", s.ProcessCoreHours, s.AttributedCoreHours+*s.UnattributedCoreHours, 1e-9)
		if s.UnknownCallerCoreHours > 1e-12 {
			t.Errorf("callers are known in every cell, yet %v core hours have none", s.UnknownCallerCoreHours)
		}
	}
	mean, squares := 0.0, 0.0
	for _, x := range z {
		mean += x / float64(len(z))
		squares += x * x / float64(len(z))
	}
	if math.Abs(mean) > 0.6 || squares > 2 || squares < 0.2 {
		t.Errorf("errors in units of their standard errors: mean %.2f, mean square %.2f", mean, squares)
	}
}

// Unknown figures are marked as unknown and are never 0.
func TestCost_UnknownNotZero(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Price = 0
	for i := range 40 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.NoCPU", at, time.Minute, 3)
		p.Counts("a.Counted", at, time.Minute, 5)
		p.Counts("a.Unpriced", at, time.Minute, 7)
		p.Call("a.NoCPU", "(entry)", at, time.Second, -1, 1, 0)
		p.Call("a.Unpriced", "(entry)", at, time.Second, time.Millisecond, 1, 1)
	}
	r, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	m := methods["a.NoCPU"]
	if m.SelfCoreHours != nil || m.SelfUSD != nil || m.CPUNSPerCall != nil || m.Uncertain {
		t.Errorf("a cost without CPU: %+v", m)
	}
	near(t, "its wall", m.WallNSPerCall, 1e9, 1e-9)
	m = methods["a.Counted"]
	if m.Measured != 0 || m.WallNSPerCall != nil || m.UnmeasuredCalls != 200 || m.Calls != 200 {
		t.Errorf("counted and never measured: %+v", m)
	}
	m = methods["a.Unpriced"]
	if m.SelfUSD != nil || m.SelfUSDPerDay != nil {
		t.Errorf("dollars without a price: %+v", m)
	}
	near(t, "its core hours", m.SelfCoreHours, 280*1e6/nsPerCoreHour, 1e-9)
	near(t, "unpriced", &m.UnpricedCoreHours, 280*1e6/nsPerCoreHour, 1e-9)
	s := r.Services[0]
	if s.ProcessCoreHours != nil || s.UnattributedCoreHours != nil || s.ProcessUSD != nil {
		t.Errorf("process CPU without process rows: %+v", s)
	}
	near(t, "unpriced of the service", &s.UnpricedCoreHours, 280*1e6/nsPerCoreHour, 1e-9)
	near(t, "unmeasured of the service", &s.UnmeasuredCalls, 200, 1e-9)
}

// No caller of Rate is known, so that the self cost of any method that calls it can be too high.
func TestSelfCost_UnknownCallers(t *testing.T) {
	shop := fixture.Shop{Seed: 3, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 40, Requests: 30}
	items, truth := shop.Run()
	for i := range items {
		for j := range items[i].Rows {
			if r := &items[i].Rows[j]; r.Method == "Rate" {
				r.Caller = ""
			}
		}
	}
	r, methods := compute(t, fixture.Write(t, items))
	near(t, "unknown caller", &r.Services[0].UnknownCallerCoreHours, truth.AllNS[fixture.Rate]/nsPerCoreHour, 5e-5)
	if m := methods[full(fixture.Total)]; !m.Uncertain {
		t.Errorf("the caller's self cost is called certain: %+v", m)
	}
	if m := methods[full(fixture.Rate)]; m.Uncertain {
		t.Errorf("the callee's own cost is called uncertain: %s", m.Why)
	}
}

// The cost of a method that calls itself is counted once.
func TestInclusive_Recursion(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 40 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.Walk", at, time.Minute, 3)
		p.Call("a.Walk", "(entry)", at, time.Second, 6*time.Millisecond, 1, 1)
		p.Call("a.Walk", "a.Walk", at, time.Second, 4*time.Millisecond, 1, 1)
		p.Call("a.Walk", "a.Walk", at, time.Second, 1*time.Millisecond, 1, 1)
	}
	_, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	near(t, "self", methods["a.Walk"].SelfCoreHours, 40*6e6/nsPerCoreHour, 1e-9)
	near(t, "outermost", methods["a.Walk"].InclusiveCoreHours, 40*6e6/nsPerCoreHour, 1e-9)
}

// A more expensive new version does not make the cost of both versions less certain.
func TestCost_VersionsDiffer(t *testing.T) {
	first := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 30, Requests: 20}
	second := first
	second.Seed, second.Version, second.Start = 2, "2", fixture.Start.Add(30*time.Minute)
	second.OwnCPU = fixture.DefaultOwnCPU()
	second.OwnCPU[fixture.Rate] *= 20
	items, _ := first.Run()
	more, _ := second.Run()
	_, methods := compute(t, fixture.Write(t, items, more))
	m := methods[full(fixture.Rate)]
	if m.Uncertain || *m.SelfCoreHoursSE > 0.05**m.SelfCoreHours {
		t.Errorf("%v +- %v: %s", *m.SelfCoreHours, *m.SelfCoreHoursSE, m.Why)
	}
}
