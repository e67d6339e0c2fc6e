package findings

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

func open(t *testing.T, root string, window query.Window) *query.Warehouse {
	t.Helper()
	w, err := query.Open(t.Context(), root, window)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// evaluate compares the newest versions by evidence.
func evaluate(t *testing.T, root string, o pairs.Options) *Findings {
	t.Helper()
	o.Limits = pairs.EvidenceRule{}.Default()
	f, err := Evaluate(t.Context(), open(t, root, query.Window{}), query.Filter{}, pairs.EvidenceRule{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Dollars of an alert are the share of its growth in the cost of the version, over the version's own time.
func TestEvaluate_AlertDollars(t *testing.T) {
	root := fixture.TwoReleases(t, 0.5)
	o := pairs.Options{AsOf: fixture.Evening, WarmUp: evidence.Learn}
	found := evaluate(t, root, o)
	o.Limits = pairs.ThresholdRule{}.Default()
	byThreshold, err := Evaluate(t.Context(), open(t, root, query.Window{}), query.Filter{}, pairs.ThresholdRule{}, pairs.Options{Limits: o.Limits, AsOf: o.AsOf})
	if err != nil {
		t.Fatal(err)
	}
	// Version 1.10.0 starts half an hour after 1.9.0.
	own := open(t, root, query.Window{From: fixture.Start.Add(30 * time.Minute)})
	costs, err := cost.Compute(t.Context(), own, cost.Options{By: []cost.Dimension{cost.ByMethod, cost.ByVersion}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range costs.Groups {
		l := &costs.Groups[i]
		if l.Method != "Rate" || l.Version != "1.10.0" {
			continue
		}
		for _, f := range []*Findings{found, byThreshold} {
			if len(f.Alerts) != 1 || !f.Found() || f.Inconclusive() || f.To != fixture.Evening {
				t.Fatalf("%s: %+v", f.Method, f)
			}
			a := f.Alerts[0]
			want := *l.SelfUSDPerDay * (a.Head - a.Base) / a.Head
			if a.Method != "Rate" || a.USDPerDay == nil || math.Abs(*a.USDPerDay/want-1) > 1e-9 || a.USDPerDayBasis != "ran for 40 min" {
				t.Errorf("%s: $%v a day, %s, want $%v", f.Method, *a.USDPerDay, a.USDPerDayBasis, want)
			}
		}
		return
	}
	t.Fatalf("no cost of Rate: %+v", costs.Groups)
}

// Deliver returns the raised alerts, leaves out accepted ones and resolves those that are gone.
func TestDeliver(t *testing.T) {
	f := example()
	to := &delivery.Dispatcher{Store: state.At(t.TempDir()), Now: func() time.Time { return fixture.Start }}
	if err := to.Store.Update(func(s *state.State) error {
		_, err := s.Accept(&f.Alerts[0], "ann", "meant", fixture.Start)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	raised, err := f.Deliver(t.Context(), to)
	if err != nil || len(raised) != 2 || len(f.Alerts) != 2 || len(f.Accepted) != 1 || f.Accepted[0].ID != "id1" {
		t.Errorf("%+v, accepted %+v, %v", raised, f.Accepted, err)
	}
	unreadable := &delivery.Dispatcher{Store: state.At("/dev/null/state"), Now: to.Now}
	if raised, err := f.Deliver(t.Context(), unreadable); raised != nil || err == nil {
		t.Errorf("%+v, %v", raised, err)
	}
}

// ran returns items of a version. start is the start of its process; zero is unknown, as for spans of other SDKs.
func ran(version, instance string, start time.Time) []methodspan.Item {
	p := fixture.NewProcess(version, instance, fixture.Start)
	p.Resource.ProcessStartNS = 0
	if !start.IsZero() {
		p.Resource.ProcessStartNS = start.UnixNano()
	}
	for n := range 40 {
		r := p.Call("a.B", "(entry)", fixture.Start.Add(time.Duration(n)*20*time.Second), time.Millisecond, time.Millisecond, 1, 1)
		if start.IsZero() {
			r.WeightBasis, r.Calls = methodspan.BasisThreshold, 1
		}
	}
	return []methodspan.Item{p.Item()}
}

// Versions whose first rows fall into the same minute are ordered by the start of their processes, or by version.
func TestEvaluate_ChoosesBase(t *testing.T) {
	ago := func(d time.Duration) time.Time { return fixture.Start.Add(-d) }
	for _, c := range []struct {
		name           string
		first, second  string
		started, later time.Time
		o              pairs.Options
		want           string
	}{
		{"one instant", "1.10.0", "1.9.0", ago(0), ago(0), pairs.Options{}, "1.9.0 1.10.0 version order"},
		{"processes of one minute", "1.10.0", "1.9.0", ago(20 * time.Second), ago(5 * time.Second), pairs.Options{}, "1.10.0 1.9.0 process start"},
		{"unknown processes", "1.10.0", "1.9.0", time.Time{}, time.Time{}, pairs.Options{}, "1.9.0 1.10.0 version order"},
		{"both named", "1.10.0", "1.9.0", ago(0), ago(0), pairs.Options{Base: "1.10.0", Head: "1.9.0"}, "1.10.0 1.9.0 asked for"},
	} {
		root := fixture.Write(t, ran(c.first, "a", c.started), ran(c.second, "b", c.later))
		f := evaluate(t, root, c.o)
		if len(f.Comparisons) != 1 || len(f.NotCompared) != 0 {
			t.Fatalf("%s: %+v", c.name, f)
		}
		x := f.Comparisons[0]
		if got := fmt.Sprintf("%s %s %s", x.BaseVersion, x.HeadVersion, string(x.ChosenBy)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	root := fixture.Write(t, ran("1", "a", time.Time{}))
	if f := evaluate(t, root, pairs.Options{}); len(f.NotCompared) != 1 || !f.Inconclusive() || f.Found() {
		t.Errorf("a single version: %+v", f)
	}
	w := open(t, root, query.Window{})
	if f, err := Evaluate(t.Context(), w, query.Filter{Service: "none"}, pairs.EvidenceRule{}, pairs.Options{}); f != nil || err != nil {
		t.Errorf("no rows: %+v, %v", f, err)
	}
	if _, err := Evaluate(t.Context(), w, query.Filter{}, pairs.EvidenceRule{}, pairs.Options{Base: "7"}); !errors.Is(err, pairs.ErrUnknownVersion) {
		t.Errorf("an unknown version: %v", err)
	}
}

// Warnings name clocks that are ahead, and services whose processes can look like one: without an instance, or with
// only a network address.
func TestEvaluate_Warnings(t *testing.T) {
	const merged = "processes may be merged: store/shop (production)"
	for instance, want := range map[string]bool{"": true, methodspan.MayBeMerged + "10.0.0.7:40123": true, "web-7d9f/12": false} {
		root := fixture.Write(t, ran("1", instance, time.Time{}), ran("2", instance, time.Time{}))
		for _, now := range []time.Time{fixture.Evening, fixture.Start.Add(-time.Hour)} {
			warnings := strings.Join(evaluate(t, root, pairs.Options{AsOf: now}).Warnings, "\n")
			if strings.Contains(warnings, merged) != want || (warnings != "") != (want || now.Before(fixture.Start)) {
				t.Errorf("instance %q at %s: %q", instance, now, warnings)
			}
		}
	}
}

// The comparison of a window that ended decides at once. While rows can arrive, the next evaluation confirms.
func TestEvaluate_WindowOver(t *testing.T) {
	shop := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 12}
	items, _ := shop.Run()
	shop.Seed, shop.Version, shop.Start, shop.OwnCPU = 2, "2", shop.Start.Add(time.Second), fixture.DefaultOwnCPU()
	shop.OwnCPU[fixture.Rate] *= 3
	more, _ := shop.Run()
	root := fixture.Write(t, items, more)
	o := pairs.Options{Limits: pairs.EvidenceRule{}.Default(), Bucket: time.Minute, WarmUp: time.Minute}
	end := fixture.Start.Add(5*time.Minute + 30*time.Second)
	for _, c := range []struct {
		to, now time.Time
		alerts  int
	}{{time.Time{}, end.Add(30 * time.Second), 0}, {end, fixture.Start.Add(time.Hour), 1}} {
		o.AsOf = c.now
		f, err := Evaluate(t.Context(), open(t, root, query.Window{To: c.to}), query.Filter{}, pairs.EvidenceRule{}, o)
		if err != nil || len(f.Alerts) != c.alerts || c.alerts > 0 && f.Alerts[0].Kind != alert.Regression {
			t.Errorf("until %s, at %s: %+v, %v", c.to, c.now, f.Alerts, err)
		}
	}
}

// Dollars of an alert do not depend on the time of the query: two hours after the last rows they are the same.
func TestEvaluate_AlertDollarsAfterStop(t *testing.T) {
	root := fixture.TwoReleases(t, 0.5)
	var usd []float64
	for _, at := range []time.Time{fixture.Evening, fixture.Evening.Add(2 * time.Hour)} {
		found := evaluate(t, root, pairs.Options{AsOf: at, WarmUp: evidence.Learn})
		if len(found.Alerts) != 1 || found.Alerts[0].USDPerDay == nil {
			t.Fatalf("%v: %+v", at, found.Alerts)
		}
		usd = append(usd, *found.Alerts[0].USDPerDay)
	}
	if usd[0] != usd[1] {
		t.Errorf("$%v a day, two hours later $%v", usd[0], usd[1])
	}
}
