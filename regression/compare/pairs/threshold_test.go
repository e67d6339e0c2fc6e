package pairs

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

var defaults = Options{Limits: ThresholdRule{}.Default()}

// compare stores the calls of the shops and compares the newest versions.
func compare(t *testing.T, o Options, shops ...fixture.Shop) *Comparison {
	t.Helper()
	var items []methodspan.Item
	for _, s := range shops {
		more, _ := s.Run()
		items = append(items, more...)
	}
	return compareItems(t, o, items)
}

func compareItems(t *testing.T, o Options, items []methodspan.Item) *Comparison {
	t.Helper()
	ctx := context.Background()
	w, err := query.Open(ctx, fixture.Write(t, items), query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	runs, err := w.Runs(ctx, query.Window{}, query.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	pairs, skips, err := Choose(runs, "", "")
	if err != nil || len(pairs) != 1 {
		t.Fatal(pairs, skips, err)
	}
	c, _, err := ThresholdRule{}.Compare(ctx, w, query.Filter{}, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	return c[0]
}

func raised(c *Comparison) []string {
	var names []string
	for _, a := range c.Alerts {
		names = append(names, a.Method)
	}
	slices.Sort(names)
	return names
}

func line(t *testing.T, c *Comparison, method string) *evidence.Verdict {
	t.Helper()
	for i := range c.Methods {
		if c.Methods[i].Method == method {
			return &c.Methods[i]
		}
	}
	t.Fatalf("no line for %s", method)
	return nil
}

// before and after are two consecutive releases that run at the same time for a while.
func before(seed uint64) fixture.Shop {
	return fixture.Shop{
		Seed: 2 * seed, Version: "1", Instances: []string{"a", "b", "c"}, Start: fixture.Start, Minutes: 40, Requests: 40,
		Rate: map[string]float64{fixture.Serve: 1, fixture.Total: 0.3, fixture.Rate: 0.2, fixture.Log: 0.3}, CPURate: 0.5,
	}
}

func after(seed uint64) fixture.Shop {
	s := before(seed)
	s.Seed++
	s.Version, s.Instances, s.Start = "2", []string{"d", "e", "f"}, fixture.Start.Add(30*time.Minute)
	s.OwnCPU = fixture.DefaultOwnCPU()
	return s
}

func TestThreshold_RegressedMethodAlerts(t *testing.T) {
	for _, tc := range []struct {
		method string
		name   string
		factor float64
	}{
		{fixture.Rate, "Rate", 1.5},   // a leaf below two callers
		{fixture.Total, "Total", 2},   // calls and is called
		{fixture.Serve, "Serve", 1.6}, // the root
		{fixture.Log, "Write", 3},     // a leaf that is 5% of its caller
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s %d", tc.name, seed), func(t *testing.T) {
				a := after(seed)
				a.OwnCPU[tc.method] = time.Duration(tc.factor * float64(a.OwnCPU[tc.method]))
				c := compare(t, defaults, before(seed), a)
				if got := raised(c); !slices.Equal(got, []string{tc.name}) {
					for _, l := range c.Methods {
						t.Logf("%+v %v", l, l.ChangePercent)
					}
					t.Fatalf("raised %v", got)
				}
				alert := c.Alerts[0]
				planted := 100 * (tc.factor - 1)
				if alert.Interval[0] > planted || alert.Interval[1] < planted {
					// A 95% interval can miss the true value, but not by much.
					if math.Abs(alert.ChangePercent-planted) > 0.35*planted {
						t.Errorf("change %v %v, planted %v", alert.ChangePercent, alert.Interval, planted)
					}
				}
				if alert.Metric != "cpu" || alert.BaseVersion != "1" || alert.HeadVersion != "2" || alert.BaseRevision != "rev-1" ||
					alert.HeadRevision != "rev-2" || alert.USDPerDay == nil || *alert.USDPerDay <= 0 || alert.ID == "" ||
					!alert.FirstSeen.Equal(c.HeadFrom) || alert.Records < 100 {
					t.Errorf("%+v", alert)
				}
			})
		}
	}
}

func TestThreshold_ReasonNamesCallers(t *testing.T) {
	a := after(1)
	a.OwnCPU[fixture.Rate] *= 3
	c := compare(t, defaults, before(1), a)
	if !slices.Equal(raised(c), []string{"Rate"}) {
		t.Fatal(raised(c))
	}
	for _, m := range []string{"Serve", "Total"} {
		if l := line(t, c, m); l.State != evidence.Explained {
			t.Errorf("%s is %s", m, l.State)
		}
	}
	reason := c.Alerts[0].Reason
	for _, part := range []string{"shop/cart.Cart.Total", "shop/web.Handler.Serve", "cpu", "95% interval", "instance x"} {
		if !strings.Contains(reason, part) {
			t.Errorf("the reason lacks %q: %s", part, reason)
		}
	}
}

// The own time of a method that mostly calls others is too small for a percentage. It is raised by its inclusive
// time, if its own part grew too.
func TestThreshold_SmallOwnTimeUsesInclusive(t *testing.T) {
	own := func(s fixture.Shop, serve time.Duration) fixture.Shop {
		s.OwnCPU = fixture.DefaultOwnCPU()
		s.OwnCPU[fixture.Serve] = serve
		return s
	}
	t.Run("a callee grew", func(t *testing.T) {
		b, a := own(before(5), 2*time.Microsecond), own(after(5), 2*time.Microsecond)
		a.OwnCPU[fixture.Rate] *= 2
		c := compare(t, defaults, b, a)
		if l := line(t, c, "Serve"); l.Basis != "inclusive" || l.State != evidence.Explained {
			t.Errorf("%+v", l)
		}
		if !slices.Equal(raised(c), []string{"Rate"}) {
			t.Errorf("raised %v", raised(c))
		}
	})
	t.Run("its own code grew", func(t *testing.T) {
		c := compare(t, defaults, own(before(6), 2*time.Microsecond), own(after(6), 500*time.Microsecond))
		if !slices.Equal(raised(c), []string{"Serve"}) {
			t.Fatalf("raised %v", raised(c))
		}
		if l := line(t, c, "Serve"); l.Basis != "inclusive" || !strings.Contains(c.Alerts[0].Reason, "with all it calls") {
			t.Errorf("%+v: %s", l, c.Alerts[0].Reason)
		}
	})
}

// A method that is called three times as often makes its caller more expensive, but its own code costs as much as
// before: no own time grew.
func TestThreshold_MoreCallsNoAlert(t *testing.T) {
	a := after(2)
	a.Calls = map[string]int{fixture.Rate: 3}
	if c := compare(t, defaults, before(2), a); len(c.Alerts) > 0 {
		t.Errorf("raised %v: %s", raised(c), c.Alerts[0].Reason)
	}
}

// Without any change, chance alone would raise one method in forty per evaluation; the threshold prevents most of these
// alerts.
func TestThreshold_NothingChanged(t *testing.T) {
	alerts, judged := 0, 0
	for seed := range uint64(8) {
		c := compare(t, defaults, before(100+seed), after(100+seed))
		alerts += len(c.Alerts)
		for _, l := range c.Methods {
			if l.State.Judged() {
				judged++
			}
		}
	}
	if judged != 32 || alerts > 1 {
		t.Errorf("%d alerts from %d methods", alerts, judged)
	}
}

func TestThreshold_FewRecords(t *testing.T) {
	b, a := before(1), after(1)
	for _, s := range []*fixture.Shop{&b, &a} {
		s.Rate[fixture.Rate] = 0.004
	}
	a.OwnCPU[fixture.Rate] *= 5
	c := compare(t, defaults, b, a)
	if l := line(t, c, "Rate"); l.State != evidence.FewRecords || l.ChangePercent != nil {
		t.Errorf("%+v", l)
	}
	if slices.Contains(raised(c), "Rate") {
		t.Error("raised from a handful of records")
	}
}

func TestThreshold_WallWithoutCPU(t *testing.T) {
	b, _ := before(1).Run()
	shop := after(1)
	shop.OwnCPU[fixture.Rate] *= 2
	a, _ := shop.Run()
	for i := range a {
		for j := range a[i].Rows {
			if r := &a[i].Rows[j]; r.Kind == methodspan.KindCall {
				r.CPUMeasured, r.CPUNS, r.CPUP, r.CPUState = 0, 0, 0, methodspan.CPUUnavailable
			}
		}
	}
	c := compareItems(t, defaults, append(b, a...))
	if c.Metric != query.Wall || !slices.Equal(raised(c), []string{"Rate"}) {
		t.Fatalf("%s: %v", c.Metric, raised(c))
	}
	if alert := c.Alerts[0]; alert.Metric != "wall" || alert.USDPerDay != nil || !strings.Contains(alert.Reason, "wall time") {
		t.Errorf("%+v", alert)
	}
}

func TestThreshold_NewAndGoneMethods(t *testing.T) {
	b, _ := before(1).Run()
	a, _ := after(1).Run()
	rename := func(items []methodspan.Item, from, to string) {
		for i := range items {
			for j := range items[i].Rows {
				if r := &items[i].Rows[j]; r.Method == from {
					r.Method = to
				}
			}
		}
	}
	rename(a, "Write", "Print")
	c := compareItems(t, defaults, append(b, a...))
	if l := line(t, c, "Print"); l.State != evidence.New {
		t.Errorf("%+v", l)
	}
	if l := line(t, c, "Write"); l.State != evidence.Gone {
		t.Errorf("%+v", l)
	}
}

func TestThreshold_UnpricedNoDollars(t *testing.T) {
	b, a := before(1), after(1)
	b.Unpriced, a.Unpriced = true, true
	a.OwnCPU[fixture.Rate] *= 2
	c := compare(t, defaults, b, a)
	if len(c.Alerts) != 1 || c.Alerts[0].USDPerDay != nil {
		t.Errorf("%+v", c.Alerts)
	}
}
