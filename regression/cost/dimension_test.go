package cost

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// computeWith computes the costs of the window in o.
func computeWith(t *testing.T, root string, o Options, options ...query.Option) *Table {
	t.Helper()
	w, err := query.Open(context.Background(), root, o.Window, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Compute(context.Background(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// twoVersions writes a fully measured shop of two versions and returns the true self time of each method by version.
func twoVersions(t *testing.T) (root string, own [2]fixture.Truth) {
	first := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 30, Requests: 10}
	second := first
	second.Seed, second.Version, second.Start = 2, "2", fixture.Start.Add(30*time.Minute)
	items, truth := first.Run()
	more, again := second.Run()
	return fixture.Write(t, items, more), [2]fixture.Truth{truth, again}
}

func owners(t *testing.T, text string) *rules.Owners {
	t.Helper()
	o, warnings, err := rules.ParseOwners([]byte(text))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	return o
}

func hours(own [2]fixture.Truth, names ...string) (sum float64) {
	for _, truth := range own {
		for _, name := range names {
			sum += truth.OwnNS[name] / nsPerCoreHour
		}
	}
	return sum
}

var everything = []string{fixture.Serve, fixture.Total, fixture.Rate, fixture.Log}

// If everything is measured, the lines by every dimension are exact.
func TestBy_EachDimension(t *testing.T) {
	root, own := twoVersions(t)
	o := owners(t, `{"version": 1, "owners": [{"class": "shop/tax", "owner": "tax"}, {"class": "shop/cart", "owner": "cart"}]}`)
	for _, tc := range []struct {
		by   string
		want map[string]float64 // by the name of the line
	}{
		{"service", map[string]float64{"shop": hours(own, everything...)}},
		{"environment", map[string]float64{"production": hours(own, everything...)}},
		{"class", map[string]float64{"shop/tax": hours(own, fixture.Rate), "shop/cart.Cart": hours(own, fixture.Total),
			"shop/web.Handler": hours(own, fixture.Serve), "shop/log": hours(own, fixture.Log)}},
		{"owner", map[string]float64{"tax": hours(own, fixture.Rate), "cart": hours(own, fixture.Total), "": hours(own, fixture.Serve, fixture.Log)}},
		{"version", map[string]float64{"1": hours([2]fixture.Truth{own[0]}, everything...), "2": hours([2]fixture.Truth{own[1]}, everything...)}},
		{"service,version,owner", map[string]float64{"1 tax": hours([2]fixture.Truth{own[0]}, fixture.Rate), "2 tax": hours([2]fixture.Truth{own[1]}, fixture.Rate)}},
	} {
		by, err := ParseBy(tc.by)
		if err != nil {
			t.Fatal(err)
		}
		r := computeWith(t, root, Options{By: by, Owners: o})
		found, sum := map[string]*Line{}, 0.0
		for i := range r.Groups {
			l := &r.Groups[i]
			name := map[string]string{
				"service": l.Name, "environment": l.Environment, "class": l.Class, "owner": l.Owner, "version": l.Version,
				"service,version,owner": l.Version + " " + l.Owner,
			}[tc.by]
			found[name] = l
			sum += *l.SelfCoreHours
			if l.SelfCoreHoursSE == nil || *l.SelfCoreHoursSE <= 0 || *l.SelfCoreHoursSE > 0.1**l.SelfCoreHours {
				t.Errorf("by %s: %s: standard error %v", tc.by, name, l.SelfCoreHoursSE)
			}
		}
		near(t, "sum by "+tc.by, &sum, hours(own, everything...), 5e-5)
		for name, want := range tc.want {
			if found[name] == nil {
				t.Errorf("by %s: no line %q", tc.by, name)
				continue
			}
			near(t, "by "+tc.by+" "+name, found[name].SelfCoreHours, want, 5e-5)
		}
		if tc.by == "service" {
			l := found["shop"]
			near(t, "inclusive of all is self of all", l.InclusiveCoreHours, *l.SelfCoreHours, 1e-9)
			near(t, "per request", l.SelfUSDPerRequest, *l.SelfUSD/float64(own[0].Calls[fixture.Serve]+own[1].Calls[fixture.Serve]), 1e-9)
			near(t, "per month", l.SelfUSDPerMonth, *l.SelfUSDPerDay*365/12, 1e-9)
			if l.Instances != 2 || l.SelfUSDInterval[0] >= *l.SelfUSD || l.SelfUSDInterval[1] <= *l.SelfUSD {
				t.Errorf("%+v", l)
			}
		}
	}
}

// The error of a sum accounts for methods whose costs rise and fall together: they are not independent.
func TestBy_StandardErrors(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 40 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		cpu := time.Duration(1+i%2) * time.Millisecond // both are expensive in the same minutes
		for _, name := range []string{"a.X.A", "a.X.B"} {
			p.Counts(name, at, time.Minute, 30)
			for range 30 {
				p.Call(name, "(entry)", at, time.Second, cpu, 1, 1)
			}
		}
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	single := computeWith(t, root, Options{}).Methods
	both := computeWith(t, root, Options{By: []Dimension{ByClass}}).Groups
	near(t, "error of both", both[0].SelfCoreHoursSE, *single[0].SelfCoreHoursSE+*single[1].SelfCoreHoursSE, 1e-9)
}

func TestBy_Caller(t *testing.T) {
	root, own := twoVersions(t)
	r := computeWith(t, root, Options{By: []Dimension{ByCaller, ByMethod}})
	found := map[string]*Line{}
	for i := range r.Groups {
		found[r.Groups[i].Caller+" "+r.Groups[i].Method] = &r.Groups[i]
	}
	all := (own[0].AllNS[fixture.Rate] + own[1].AllNS[fixture.Rate]) / nsPerCoreHour
	l := found[full(fixture.Total)+" Rate"]
	if len(found) != 4 || l == nil || l.SelfCoreHours != nil {
		t.Fatalf("%+v", found)
	}
	near(t, "what the cart pays for tax", l.InclusiveCoreHours, all, 5e-5)
	near(t, "calls", &l.Calls, float64(own[0].Calls[fixture.Rate]+own[1].Calls[fixture.Rate]), 1e-9)
}

func TestParseBy(t *testing.T) {
	for s, want := range map[string]string{"clas": `did you mean "class"?`, "": "--by", "class,class": "found \"class\" twice", "class;owner": "--by"} {
		if _, err := ParseBy(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// Lines add up to the paid cost, to the precision of floats, however few calls are measured.
func TestReconciles(t *testing.T) {
	for seed := range uint64(4) {
		shop := fixture.Shop{
			Seed: seed, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 25, Requests: 30,
			Rate: map[string]float64{fixture.Total: 0.2, fixture.Rate: 0.05, fixture.Log: 0.5}, CPURate: 0.5, CallerLookups: 0.6, Unpriced: seed == 3,
		}
		items, _ := shop.Run()
		other := fixture.Shop{Seed: seed + 10, Version: "1", Instances: []string{"unpriced"}, Start: fixture.Start, Minutes: 25, Requests: 5, Unpriced: true}
		more, _ := other.Run()
		o := owners(t, `{"version": 1, "owners": [{"class": "shop/tax", "owner": "tax"}]}`)
		r := computeWith(t, fixture.Write(t, items, more), Options{Owners: o})
		s := r.Services[0]
		coreHours, usd := 0.0, 0.0
		for _, owned := range s.Owned {
			coreHours += owned.CoreHours
			usd += owned.USD
		}
		near(t, "core hours", s.PaidCoreHours, coreHours+*s.UnattributedCoreHours+*s.IdleCoreHours, 1e-12)
		near(t, "cores x time", s.PaidCoreHours, 2*3*25.0/60, 1e-9)
		if seed == 3 {
			if s.PaidUSD != nil || s.UnpricedPaidCoreHours != *s.PaidCoreHours {
				t.Errorf("dollars without a price: %+v", s)
			}
			continue
		}
		near(t, "dollars", s.PaidUSD, usd+*s.UnattributedUSD+*s.IdleUSD, 1e-12)
		near(t, "price of the priced part", s.PaidUSD, 0.05*(*s.PaidCoreHours-s.UnpricedPaidCoreHours), 1e-9)
		if last := s.Owned[len(s.Owned)-1]; last.Owner != "" || len(s.Owned) != 2 {
			t.Errorf("%+v", s.Owned)
		}
	}
}

// A price book for past dates: a place that it does not contain is unpriced.
func TestReprice(t *testing.T) {
	root, _ := twoVersions(t)
	before := computeWith(t, root, Options{})
	after := computeWith(t, root, Options{Price: func(query.Place) float64 { return 0.5 }})
	near(t, "ten times the price", after.Methods[0].SelfUSD, 10**before.Methods[0].SelfUSD, 1e-9)
	near(t, "of what is paid", after.Services[0].PaidUSD, 10**before.Services[0].PaidUSD, 1e-9)
	none := computeWith(t, root, Options{Price: func(query.Place) float64 { return 0 }})
	if none.Methods[0].SelfUSD != nil || none.Services[0].PaidUSD != nil || none.Methods[0].UnpricedCoreHours == 0 {
		t.Errorf("%+v", none.Methods[0])
	}
}

// Percentiles count calls, not records: each record counts by its weight.
func TestPercentiles(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 40 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 1000)
		for j := range 30 { // 98 of 100 calls are fast, and few of the fast ones are measured
			p.Call("a.B", "(entry)", at, time.Millisecond, 100*time.Microsecond, 0.03, 1)
			if j < 20 {
				p.Call("a.B", "(entry)", at, time.Second, 50*time.Millisecond, 1, 1)
			}
		}
	}
	r := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{Percentiles: true})
	m := r.Methods[0]
	near(t, "wall p50", &m.Wall.P50, 1e6, 0.011)
	near(t, "wall p95", &m.Wall.P95, 1e6, 0.011)
	near(t, "wall p99", &m.Wall.P99, 1e9, 0.011)
	near(t, "cpu p50", &m.CPU.P50, 1e5, 0.011)
	near(t, "cpu p99", &m.CPU.P99, 5e7, 0.011)
	if percentilesOf(nil) != nil {
		t.Error("percentiles of nothing")
	}
	if math.IsNaN(m.Wall.P50) {
		t.Error("NaN")
	}
}

// A method never has more CPU time than wall time. If by chance the calls with CPU time differ from those with wall
// time alone, both figures use the calls that have both.
func TestPercentiles_CPUWithinWall(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 40 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 100)
		for range 9 {
			p.Call("a.B", methodspan.CallerEntry, at, time.Millisecond, -1, 0.1, 0.1)
		}
		p.Call("a.B", methodspan.CallerEntry, at, 3*time.Millisecond, 2*time.Millisecond, 0.1, 0.1)
	}
	m := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{Percentiles: true}).Methods[0]
	near(t, "CPU a call", m.CPUNSPerCall, 2e6, 0.011)
	near(t, "wall a call", m.WallNSPerCall, 3e6, 0.011)
	for _, p := range [][2]float64{{m.CPU.P50, m.Wall.P50}, {m.CPU.P95, m.Wall.P95}, {m.CPU.P99, m.Wall.P99}} {
		near(t, "CPU percentile", &p[0], 2e6, 0.011)
		near(t, "wall percentile", &p[1], 3e6, 0.011)
	}
}
