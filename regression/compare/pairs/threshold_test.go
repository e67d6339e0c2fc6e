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
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/regression/alert/rules"
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
	return compareIn(t, o, fixture.Write(t, items))
}

// compareIn compares the newest versions of a warehouse.
func compareIn(t *testing.T, o Options, root string) *Comparison {
	t.Helper()
	ctx := context.Background()
	w, err := query.Open(ctx, root, query.Window{})
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
	fixture.SkipRaced(t)
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
	fixture.SkipRaced(t)
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

// Processes of the new version are three times as expensive in their first five minutes and as cheap as the old version
// afterwards, so a warm-up of 5 minutes leaves no regression.
func TestThreshold_ExcludesWarmUp(t *testing.T) {
	first := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 60, Requests: 20}
	second := first
	second.Seed, second.Version, second.Instances, second.Start = 2, "2", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
	items, _ := first.Run()
	cold, _ := second.Run()
	for _, item := range cold {
		for i := range item.Rows {
			if r := &item.Rows[i]; time.Unix(0, r.StartNS).Before(second.Start.Add(5 * time.Minute)) {
				r.CPUNS, r.WallNS = 3*r.CPUNS, 3*r.WallNS
			}
		}
	}
	root := fixture.Write(t, items, cold)
	o := defaults
	all := compareIn(t, o, root)
	o.WarmUp = 5 * time.Minute
	warm := compareIn(t, o, root)
	if len(all.Alerts) != 4 || len(warm.Alerts) != 0 || len(warm.Methods) != 4 {
		t.Errorf("%q, without the warm-up %q", raised(all), raised(warm))
	}
	// 2 processes x 20 requests per minute x 5 minutes.
	if b, w := line(t, all, "Serve"), line(t, warm, "Serve"); b.BaseRecords-w.BaseRecords != 200 || b.HeadRecords-w.HeadRecords != 200 {
		t.Errorf("%d and %d records, with the warm-up %d and %d", w.BaseRecords, w.HeadRecords, b.BaseRecords, b.HeadRecords)
	}
	o.WarmUp = 70 * time.Minute
	if none := compareIn(t, o, root); none.Conclusive() || len(none.Methods) != 0 || !strings.Contains(strings.Join(none.Warnings, "\n"), "nothing that version 2 measured is compared") {
		t.Errorf("all is warm-up: %+v", none)
	}
}

// Dollars a day refer to the compared time, so a warm-up of a quarter of it changes them little.
func TestThreshold_WarmUpDollars(t *testing.T) {
	b, a := before(1), after(1)
	b.Rate, a.Rate, b.CPURate, a.CPURate = nil, nil, 1, 1
	a.OwnCPU[fixture.Rate] *= 2
	o := defaults
	all := compare(t, o, b, a)
	o.WarmUp = 10 * time.Minute
	warm := compare(t, o, b, a)
	if len(all.Alerts) != 1 || len(warm.Alerts) != 1 {
		t.Fatalf("%q, %q", raised(all), raised(warm))
	}
	if ratio := *warm.Alerts[0].USDPerDay / *all.Alerts[0].USDPerDay; ratio < 0.9 || ratio > 1.1 || warm.Alerts[0].Records*4 != all.Alerts[0].Records*3 {
		t.Errorf("%v times the dollars from %d of %d records", ratio, warm.Alerts[0].Records, all.Alerts[0].Records)
	}
}

// Rolled-up rows that begin before the end of the warm-up are excluded whole.
func TestThreshold_WarmUpOfRollups(t *testing.T) {
	for _, c := range []struct {
		policy maintain.Policy
		left   int64 // minutes
	}{{maintain.Policy{MinuteAfter: 24 * time.Hour}, 79}, {maintain.Policy{HourAfter: 24 * time.Hour}, 70}} {
		b := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 100, Requests: 5}
		a := b
		a.Seed, a.Version, a.Instances, a.Start = 2, "2", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
		old, _ := b.Run()
		items, _ := a.Run()
		root := fixture.Write(t, old, items)
		at := fixture.Start.Add(80 * time.Hour)
		job := maintain.Job{Root: root, Policy: c.policy, Parquet: table.Options{Now: func() time.Time { return at }}}
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		o := defaults
		o.WarmUp = 20*time.Minute + 30*time.Second // version 2 runs from 09:30 to 11:10
		if got := line(t, compareIn(t, o, root), "Serve").HeadRecords; got != 10*c.left {
			t.Errorf("%+v: %d records are left, want %d", c.policy, got, 10*c.left)
		}
	}
}

// A method is compared by CPU time if both versions measured it, else by wall time. If only one version measured the
// CPU time of a callee, the caller's own CPU time would seem to grow, so the caller is compared by wall time, too.
func TestThreshold_MetricPerMethod(t *testing.T) {
	fixture.SkipRaced(t)
	for _, both := range []bool{true, false} {
		b := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 40, Requests: 20, OwnCPU: fixture.DefaultOwnCPU()}
		b.OwnCPU[fixture.Log] = 150 * time.Microsecond
		a := b
		a.Seed, a.Version, a.Instances, a.Start = 2, "2", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
		a.OwnCPU = fixture.DefaultOwnCPU()
		a.OwnCPU[fixture.Rate], a.OwnCPU[fixture.Log] = 2*a.OwnCPU[fixture.Rate], b.OwnCPU[fixture.Log]
		old, _ := b.Run()
		items, _ := a.Run()
		items = append(old, items...)
		for _, item := range items {
			for i := range item.Rows {
				r := &item.Rows[i]
				head := r.Resource.Version == "2"
				switch {
				case r.Kind != methodspan.KindCall:
				case r.Method == "Serve" && head: // it waits for Write
					r.WallNS += int64(600 * time.Microsecond)
				case r.Method == "Write":
					if both || head {
						r.CPUMeasured, r.CPUNS, r.CPUP, r.CPUState = 0, 0, 0, methodspan.CPUUnavailable
					}
					if head { // waiting time: CPU time stays the same
						r.WallNS *= 3
					}
				}
			}
		}
		root := fixture.Write(t, items)
		serve := map[bool]string{true: "cpu", false: "wall"}[both]
		for metric, want := range map[string]string{
			"":     "Rate cpu regressed, Serve " + serve + " explained, Total cpu explained, Write wall regressed",
			"wall": "Rate wall regressed, Serve wall explained, Total wall explained, Write wall regressed",
			"cpu":  "Rate cpu regressed, Serve cpu explained, Total cpu explained, Write cpu few_records",
		} {
			o := defaults
			o.Metric = metric
			c := compareIn(t, o, root)
			var lines []string
			for _, l := range c.Methods {
				lines = append(lines, l.Method+" "+l.Metric+" "+string(l.State))
			}
			slices.Sort(lines)
			if got := strings.Join(lines, ", "); got != want && (metric != "cpu" || !strings.Contains(got, "Write cpu few_records") || strings.Contains(got, "wall")) {
				t.Errorf("no CPU in both versions %t, metric %q: %s, want %s", both, metric, got, want)
			}
			for _, a := range c.Alerts {
				if !strings.Contains(a.Reason, a.Metric+" time") || (a.USDPerDay == nil) != (a.Metric == "wall") {
					t.Errorf("%s of %s: %v dollars: %s", a.Metric, a.Method, a.USDPerDay, a.Reason)
				}
				if metric == "" && a.Method == "Write" && (a.ChangePercent < 150 || a.ChangePercent > 250) {
					t.Errorf("%v%%, planted 200", a.ChangePercent)
				}
			}
		}
	}
}

// A file can raise the threshold of single methods.
func TestThreshold_PerMethod(t *testing.T) {
	a := after(1)
	a.OwnCPU[fixture.Rate] *= 2
	for entry, alerts := range map[string]int{`{"method": "shop/log", "threshold_percent": 500}`: 1, `{"service": "shop", "class": "shop/tax", "threshold_percent": 500}`: 0} {
		o := defaults
		var err error
		if o.Thresholds, _, err = rules.ParseThresholds([]byte(`{"version": 1, "thresholds": [` + entry + `]}`)); err != nil {
			t.Fatal(err)
		}
		if c := compare(t, o, before(1), a); len(c.Alerts) != alerts {
			t.Errorf("%s: %q", entry, raised(c))
		}
	}
}

// An alert contains the share of calls without a known sampling probability, and the remedy. It has no dollars then.
func TestThreshold_AssumedCalls(t *testing.T) {
	for basis, assumed := range map[string]bool{methodspan.BasisAssumed: true, methodspan.BasisThreshold: false} {
		var items []methodspan.Item
		for i := range 2 {
			for _, instance := range []string{"a", "b", "c"} {
				start := fixture.Start.Add(time.Duration(i) * time.Hour)
				p := fixture.NewProcess(fmt.Sprintf("1.%d", i), fmt.Sprint(instance, i), start)
				for n := range 300 {
					d := time.Duration(1+i)*time.Millisecond + time.Duration(n%7)*time.Microsecond
					row := p.Call("web.Serve", "(entry)", start.Add(time.Duration(n)*10*time.Second), d, d, 1, 1)
					row.WeightBasis, row.Calls = basis, 1
				}
				items = append(items, p.Item())
			}
		}
		c := compareItems(t, defaults, items)
		if len(c.Alerts) != 1 || (c.AssumedShare == 1) != assumed {
			t.Fatalf("%s: share %v, %q", basis, c.AssumedShare, raised(c))
		}
		a := c.Alerts[0]
		if strings.Contains(a.Reason, "so there are at least as many: "+methodspan.AssumedRemedy) != assumed || (a.AssumedShare == 1) != assumed || (a.USDPerDay == nil) != assumed {
			t.Errorf("%s: share %v, %v dollars: %s", basis, a.AssumedShare, a.USDPerDay, a.Reason)
		}
	}
}
