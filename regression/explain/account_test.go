package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/golden"
)

// reading returns options that read a warehouse at a time, without alerts so far.
func reading(t *testing.T, root string, now time.Time) Options {
	return Options{
		Now: now, Zone: time.UTC, Verdict: pairs.Options{Limits: pairs.EvidenceRule{}.Default(), WarmUp: evidence.Learn},
		Alerts: &delivery.Dispatcher{Store: state.At(t.TempDir()), Now: func() time.Time { return now }},
		Open:   func(ctx context.Context, w query.Window) (*query.Warehouse, error) { return query.Open(ctx, root, w) },
	}
}

// account returns the only account of a method.
func (o Options) account(t *testing.T, method string) Account {
	t.Helper()
	o.Method = method
	accounts, err := Accounts(t.Context(), o)
	if err != nil || len(accounts) != 1 {
		t.Fatalf("%s: %d accounts, %v", method, len(accounts), err)
	}
	return accounts[0]
}

func TestAccounts_TwoReleases(t *testing.T) {
	o := reading(t, fixture.TwoReleases(t, 0.5), fixture.Evening)
	regressed, explained, same := o.account(t, fixture.Rate), o.account(t, "Cart.Total"), o.account(t, "shop/LOG.write")
	golden.Check(t, "accounts.txt", written(t, &Answer{Methods: []Account{regressed, explained, same}}, output.Text))
	for _, c := range []struct {
		a       *Account
		state   evidence.VerdictState
		decided string
	}{
		{&regressed, evidence.Regressed, "an alert: every condition holds"}, {&explained, evidence.Explained, "because of what it calls"},
		{&same, evidence.NotProven, "no alert, because of the"},
	} {
		if v := c.a.Verdict; v == nil || v.State != c.state || !strings.Contains(v.Decided, c.decided) || len(c.a.Versions) != 2 || c.a.NoDrift == "" {
			t.Errorf("%s: %+v", c.a.Method, c.a)
		}
	}

	// The figures and the alert are those of the packages that compute them.
	w, err := o.Open(t.Context(), o.Window)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	o.Verdict.AsOf = o.Now
	found, err := findings.Evaluate(t.Context(), w, query.Filter{}, pairs.EvidenceRule{}, o.Verdict)
	if err != nil || len(found.Alerts) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	raised := found.Alerts[0]
	if a := regressed.Verdict.Alerts; len(a) != 1 || a[0].ID != raised.ID || math.Abs(*a[0].USDPerDay / *raised.USDPerDay - 1) > 1e-9 || a[0].USDPerDayBasis != "ran for 40 min" {
		t.Errorf("%+v, want %+v", a, raised)
	}
	costs, err := cost.Compute(t.Context(), w, cost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range costs.Methods {
		l := &costs.Methods[i]
		if l.Method != "Rate" {
			continue
		}
		if ratio := *regressed.Cost.SelfUSDPerDay / *l.SelfUSDPerDay; math.Abs(ratio-1) > 1e-9 || regressed.Cost.USDPerDayBasis != l.USDPerDayBasis {
			t.Errorf("%v times the dollars of cost: %s, want %s", ratio, regressed.Cost.USDPerDayBasis, l.USDPerDayBasis)
		}
	}

	// Sent, muted and accepted alerts of the method are shown, and none of another method.
	update := func(change func(*state.State)) {
		t.Helper()
		if err := o.Alerts.Store.Update(func(s *state.State) error { change(s); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	update(func(s *state.State) {
		s.Merge(o.Now, found.Alerts, nil, func(*alert.Alert) (string, bool) { return "", false })
	})
	if o.Alerts.Silences, _, err = rules.ParseSilences([]byte(`{"version":1,"silences":[{"service":"shop","until":"2100-01-01","reason":"quiet"}]}`)); err != nil {
		t.Fatal(err)
	}
	if a := o.account(t, fixture.Rate); len(a.Open) != 1 || a.Open[0].Alert.ID != raised.ID || len(a.Silenced) != 1 || a.Silenced[0].Reason != "quiet" || len(a.Accepted) != 0 {
		t.Errorf("sent: %+v, muted: %+v, accepted: %+v", a.Open, a.Silenced, a.Accepted)
	}
	update(func(s *state.State) { _, err = s.Accept(&raised, "ann", "it rounds right now", o.Now) })
	if a := o.account(t, fixture.Rate); err != nil || len(a.Accepted) != 1 || a.Accepted[0].By != "ann" || len(a.Silenced) != 0 {
		t.Errorf("accepted: %+v, muted: %+v, %v", a.Accepted, a.Silenced, err)
	}
	if a := o.account(t, fixture.Log); len(a.Accepted)+len(a.Silenced)+len(a.Open) != 0 {
		t.Errorf("of another method: %+v, %+v, %+v", a.Accepted, a.Silenced, a.Open)
	}
}

// A method without a verdict has a reason instead.
func TestAccounts_NoVerdict(t *testing.T) {
	var items []methodspan.Item
	for i, methods := range [][]string{{"a.Old", "a.Busy"}, {"a.Gone", "a.Busy"}, {"a.New", "a.Busy", "a.Unmeasured"}} {
		start := fixture.Start.Add(time.Duration(i) * time.Hour)
		p := fixture.NewProcess(fmt.Sprint(1+i), fmt.Sprint("i", i), start)
		for n := range 100 {
			at := start.Add(time.Duration(n) * 30 * time.Second)
			for _, method := range methods {
				p.Counts(method, at, 30*time.Second, 1)
				if method != "a.Unmeasured" {
					p.Call(method, methodspan.CallerEntry, at, time.Millisecond, time.Millisecond, 1, 1)
				}
			}
		}
		items = append(items, p.Item())
	}
	single := fixture.NewProcess("7", "s", fixture.Start)
	single.Resource.Service = "single"
	single.Counts("b.Once", fixture.Start, time.Minute, 1)
	single.Call("b.Once", methodspan.CallerEntry, fixture.Start, time.Millisecond, time.Millisecond, 1, 1)
	o := reading(t, fixture.Write(t, append(items, single.Item())), fixture.Start.Add(4*time.Hour))
	for _, c := range []struct {
		method    string
		state     evidence.VerdictState
		noVerdict string
		measured  bool
	}{
		{"a.Old", "", "neither version 2 nor version 3 called it", true},
		{"a.Gone", evidence.Gone, "", true},
		{"a.New", evidence.New, "", true},
		{"a.Unmeasured", "", "neither version 2 nor version 3 called it", false},
		{"b.Once", "", `only version "7" was seen`, true},
	} {
		a := o.account(t, c.method)
		state := evidence.VerdictState("")
		if a.Verdict != nil {
			state = a.Verdict.State
		}
		if state != c.state || !strings.HasPrefix(a.NoVerdict, c.noVerdict) || (a.NoVerdict == "") != (c.noVerdict == "") || (a.Cost != nil && a.Cost.SelfCoreHours != nil) != c.measured {
			t.Errorf("%s: %q, %q, cost %+v", c.method, state, a.NoVerdict, a.Cost)
		}
		if a.Drift != nil || a.NoDrift != "too little history: no closed day with measured calls" {
			t.Errorf("%s: drift %+v, %q", c.method, a.Drift, a.NoDrift)
		}
	}
	for filter, want := range map[query.Filter]string{
		{Service: "shoop"}: `service "shoop" (did you mean "shop"?)`, {Environment: "x"}: `environment "x"`,
	} {
		o.Method, o.Filter = "a.Busy", filter
		if _, err := Accounts(t.Context(), o); !errors.Is(err, query.ErrNoData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", filter, err)
		}
	}
}

// Each environment has an account.
func TestAccounts_Environments(t *testing.T) {
	var items []methodspan.Item
	for i, environment := range []string{"production", "test"} {
		p := fixture.NewProcess("1", environment, fixture.Start)
		p.Resource.Environment = environment
		p.Counts("a.B", fixture.Start, time.Minute, int64(1+i))
		p.Call("a.B", "(entry)", fixture.Start, time.Millisecond, time.Millisecond, 1, 1)
		items = append(items, p.Item())
	}
	o := reading(t, fixture.Write(t, items), fixture.Evening)
	o.Method = "a.B"
	accounts, err := Accounts(t.Context(), o)
	if err != nil || len(accounts) != 2 {
		t.Fatalf("%+v, %v", accounts, err)
	}
	for _, a := range accounts {
		want := map[string]float64{"production": 1, "test": 2}[a.Environment]
		if len(a.Versions) != 1 || a.Versions[0].Calls != want || a.Cost == nil || a.Cost.Environment != a.Environment || a.Cost.Calls != want {
			t.Errorf("%s: %+v, cost %+v", a.Environment, a.Versions, a.Cost)
		}
	}
}

func TestAccounts_Drift(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 90 days; runs without -short")
	}
	o := reading(t, fixture.Months().Write(t), time.Date(2026, 4, 7, 15, 0, 0, 0, time.UTC))
	for method, want := range map[string]evaluation.State{fixture.Total: evaluation.Confirmed, fixture.Log: evaluation.NotProven} {
		if a := o.account(t, method); a.Drift == nil || a.Drift.State != want || a.NoDrift != "" {
			t.Errorf("%s: %+v, %q", method, a.Drift, a.NoDrift)
		}
	}
}

// Processes that claim to have measured more calls than they counted get the same figures, intervals and record counts
// as processes that measured all their calls.
func TestAccounts_MeasuredAboveCounted(t *testing.T) {
	timed := func(measured int64) string {
		var items []methodspan.Item
		for i := range 8 {
			start := fixture.Start.Add(time.Duration(i/4) * 30 * time.Minute)
			p := fixture.NewProcess(fmt.Sprint(1+i/4), fmt.Sprintf("p-%d", i), start)
			for minute := range 30 {
				at := start.Add(time.Duration(minute) * time.Minute)
				p.Counts("shop.Cart.Add", at, time.Minute, 10)
				each := time.Duration(1000+100*(i+minute)%700) * time.Duration(measured)
				sum := p.Call("shop.Cart.Add", "(entry)", at.Add(20*time.Second), each, each, 1, 1)
				sum.Kind, sum.EndNS = methodspan.KindAggregate, at.Add(30*time.Second).UnixNano()
				sum.Measured, sum.CPUMeasured = measured, measured
				p.Beat(at, time.Minute, time.Second, minute == 29)
			}
			items = append(items, p.Item())
		}
		return fixture.Write(t, items)
	}
	var texts [2]string
	for i, measured := range []int64{10, 1 << 44} {
		a := reading(t, timed(measured), fixture.Start.Add(24*time.Hour)).account(t, "shop.Cart.Add")
		data, err := json.Marshal(a)
		if err != nil || a.Verdict == nil || a.Cost.SelfUSD == nil {
			t.Fatalf("%+v, %v", a, err)
		}
		// Several threads add up a sum, so its last digits differ from run to run.
		texts[i] = regexp.MustCompile(`\d*\.\d{8,}`).ReplaceAllStringFunc(string(data), func(s string) string {
			x, _ := strconv.ParseFloat(s, 64)
			return strconv.FormatFloat(x, 'g', 10, 64)
		})
	}
	if texts[0] != texts[1] {
		t.Errorf("got\n%s\nwant\n%s", texts[1], texts[0])
	}
}
