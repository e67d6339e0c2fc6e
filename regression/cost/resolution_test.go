package cost

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/test/fixture"
)

// A method that costs less than the uncertainty of its probes has no figure, only an upper bound per call. A method
// that costs more has a figure, without the cost of the probes.
func TestProbes_BelowResolution(t *testing.T) {
	const inside, tiny, small = 30, 8, 270 // ns
	const most = tiny + 1.96*inside        // the uncertainty of the part inside is its own size
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, time.Second, false).Process.Stats = []methodspan.Stat{
		{Name: "probe.cpu.cost_ns", Value: 1500}, {Name: "probe.inside_ns", Value: inside},
	}
	for method, own := range map[string]time.Duration{"a.Tiny": tiny, "a.Small": small, "a.None": -inside / 2} {
		p.Counts(method, fixture.Start, time.Minute, 20_000)
		for i := range 200 {
			p.Call(method, methodspan.CallerEntry, fixture.Start.Add(time.Duration(i)*300*time.Millisecond), inside+own, inside+own, 0.01, 1)
		}
	}
	r, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	l := methods["a.Tiny"]
	if !l.BelowResolution || l.SelfCoreHours != nil || l.SelfUSD != nil || l.SelfCoreHoursInterval != nil || l.ResolutionNS != math.Ceil(most) {
		t.Errorf("below resolution %v, %v core hours in %v, at most %v ns", l.BelowResolution, l.SelfCoreHours, l.SelfCoreHoursInterval, l.ResolutionNS)
	}
	if l := methods["a.None"]; !l.BelowResolution || l.CPUNSPerCall != nil || l.WallNSPerCall != nil || l.InclusiveCoreHours != nil {
		t.Errorf("None: below resolution %v, %v ns a call, %v core hours", l.BelowResolution, l.CPUNSPerCall, l.InclusiveCoreHours)
	}
	if l := methods["a.Small"]; l.BelowResolution {
		t.Error("Small is below resolution")
	} else {
		near(t, "Small", l.SelfCoreHours, (20_000 * small * time.Nanosecond).Hours(), 1e-6)
	}
	service := &r.Services[0]
	hidden, known := (20_000 * (tiny - inside/2) * time.Nanosecond).Hours(), *methods["a.Small"].SelfCoreHours
	near(t, "in lines below resolution", &service.BelowResolutionCoreHours, hidden, 1e-6)
	near(t, "all", &service.AttributedCoreHours, known+hidden, 1e-6)
	budgets, _, err := ParseBudgets([]byte(`{"version": 1, "budgets": [{"name": "x", "class": "a", "usd_per_day": 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	class := r.Spend(budgets.Budgets[0])
	near(t, "the budget of the class", class.SpentUSD, service.AttributedUSD/service.ObservedDays, 1e-6)
	if width := (class.Interval[1] - class.Interval[0]) * service.ObservedDays / service.AttributedUSD * service.AttributedCoreHours; width < 2*1.96*3*(20_000*inside*time.Nanosecond).Hours()*0.99 {
		t.Errorf("the budget's interval is %v core hours wide", width)
	}
	var text bytes.Buffer
	if err := r.Document(output.Text, View{Per: PerWindow, Zone: time.UTC, Now: fixture.Start}).Write(&text, output.Text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"below resolution (", "below resolution: 2 of the lines above", "of it in lines below resolution"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// A figure that depends on chance is no upper bound: one cheap timed call shows nothing about the other calls, and a
// sum far below zero is not small.
func TestProbes_UnknownNotBelowResolution(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Minute, time.Second, false).Process.Stats = []methodspan.Stat{
		{Name: "probe.cpu.cost_ns", Value: 1500}, {Name: "probe.inside_ns", Value: 30},
	}
	for method, rate := range map[string]float64{"a.Once": 1, "a.Seldom": 0.01} {
		p.Counts(method, fixture.Start, time.Minute, int64(1/rate))
		p.Call(method, methodspan.CallerEntry, fixture.Start.Add(time.Second), 40, 40, rate, 1)
	}
	_, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	if l := methods["a.Once"]; !l.BelowResolution {
		t.Error("Once, all of whose calls are timed, is not below resolution")
	}
	if l := methods["a.Seldom"]; l.BelowResolution || !l.Uncertain {
		t.Errorf("Seldom: below resolution %v, at most %v ns, uncertain %v", l.BelowResolution, l.ResolutionNS, l.Uncertain)
	}
	unsure := probecost.Costs{CPU: probecost.Figure{Mean: 100, SE: 30}}.Errors(probecost.Calls{CPU: 100})
	for selfX, want := range map[float64]bool{1000: true, -1000: true, 1e6: false, -1e6: false} {
		if below := (&Line{}).setResolution(&lineSums{n: 1000, selfX: selfX, probes: unsure}, 0); below != want {
			t.Errorf("%v ns, of which probes may be %v: below resolution %v", selfX, 1.96*unsure.SE(), below)
		}
	}
}
