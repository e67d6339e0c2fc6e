package cost

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/test/fixture"
)

func TestParseBudgets(t *testing.T) {
	b, warnings, err := ParseBudgets([]byte(`{"version": 1, "budgets": [
		{"name": "a", "service": "shop", "usd_per_day": 10},
		{"name": "b", "owner": "tax", "usd_per_month": 365},
		{"name": "a", "service": "cart", "usd_per_day": 10},
		{"name": "c", "usd_per_day": 10, "usd_per_month": 10}, {"name": "d"}, {"name": "e", "usd_per_day": 0}, {"usd_per_day": 1}
	]}`))
	if err != nil || len(warnings) != 5 || len(b.Budgets) != 2 {
		t.Fatal(b, warnings, err)
	}
	near(t, "a day of a month", &b.Budgets[1].USDPerDay, 12, 1e-12)
}

func TestSpend(t *testing.T) {
	root, own := twoVersions(t)
	o := owners(t, `{"version": 1, "owners": [{"class": "shop/tax", "owner": "tax"}]}`)
	r := computeWith(t, root, Options{Owners: o})
	tax := hours(own, fixture.Rate) * 0.05 * 24 // dollars per day, from one hour of rows
	budget := func(text string) Spending {
		t.Helper()
		b, warnings, err := ParseBudgets([]byte(`{"version": 1, "budgets": [` + text + `]}`))
		if err != nil || len(warnings) > 0 {
			t.Fatal(warnings, err)
		}
		return r.Spend(b.Budgets[0])
	}
	for _, text := range []string{
		`{"name": "x", "class": "shop/tax", "usd_per_day": 1e-6}`, `{"name": "x", "owner": "tax", "usd_per_day": 1e-6}`,
		`{"name": "x", "owner": "tax", "class": "shop", "service": "shop", "usd_per_day": 1e-6}`,
	} {
		s := budget(text)
		near(t, text, s.SpentUSD, tax, 5e-5)
		if !s.Broken || s.Records == 0 || s.Interval[0] >= *s.SpentUSD {
			t.Errorf("%s: %+v", text, s)
		}
	}
	if s := budget(`{"name": "x", "class": "shop/tax", "usd_per_day": 1}`); s.Broken {
		t.Errorf("%+v", s)
	}
	s := budget(`{"name": "x", "class": "shop/tax", "usd_per_day": 1e-6}`)
	s.Budget.USDPerDay = *s.SpentUSD * 0.9999 // spent above it, within the error
	if again := r.Spend(s.Budget); again.Broken || *again.SpentUSD <= again.PlannedUSD {
		t.Errorf("%+v", again)
	}
	all := budget(`{"name": "x", "service": "shop", "usd_per_day": 4}`)
	near(t, "cores x time", all.SpentUSD, 2*2*24*0.05, 1e-9)
	if !all.Broken || all.What != "cores x time" {
		t.Errorf("%+v", all)
	}
	if s := budget(`{"name": "x", "service": "other", "usd_per_day": 4}`); s.SpentUSD != nil || s.Broken {
		t.Errorf("%+v", s)
	}
}

// Without process rows, a service's budget covers the self costs of its methods.
func TestSpend_NoProcessRows(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("a.B", fixture.Start, 60e9, 3)
	p.Call("a.B", "(entry)", fixture.Start, 60e9, 1e9, 1, 1)
	r := computeWith(t, fixture.Write(t, []methodspan.Item{p.Item()}), Options{})
	if s := r.Spend(Budget{Name: "x", USDPerDay: 1e-9}); s.What != "self costs" || s.SpentUSD == nil {
		t.Errorf("%+v", s)
	}
}

// The cost of idle cores is the same for raw rows, the minute rollup and the hourly rollup. Rows that do not contain
// the number of cores make it a lower bound.
func TestSpend_RolledUpRows(t *testing.T) {
	for _, coreless := range []bool{false, true} {
		root := idleShop(t, time.Second, func(r *methodspan.Row) {
			if coreless && r.Resource.Instance == "b" && r.StartNS%int64(2*time.Hour) == 0 {
				r.Process.Cores = 0
			}
		})
		first := 0.0
		for _, level := range levels {
			if level.name != "raw" {
				rollUp(t, root, level.policy)
			}
			r := computeWith(t, root, Options{Window: date})
			s := r.Spend(Budget{Name: "shop", Scope: rules.Scope{Service: "shop"}, USDPerDay: 4})
			if known := r.Services[0].PaidUSD != nil; known == coreless || s.Broken == coreless || MayBreak([]Spending{s}) != coreless {
				t.Errorf("%s: paid %v, %+v", level.name, r.Services[0].PaidUSD, s)
			}
			if first == 0 {
				first = *s.SpentUSD
			}
			near(t, level.name, s.SpentUSD, first, 1e-9)
			if !coreless {
				near(t, level.name, s.SpentUSD, 4.8, 1e-9)
			}
		}
	}
}

// While the number of cores is unknown, a budget is neither kept nor is its alert resolved. The process CPU alone can
// exceed it.
func TestSpend_UnknownCores(t *testing.T) {
	coreless := func(r *methodspan.Row) { r.Process.Cores = 0 }
	const lacking = "48 of 48 process rows lack the number of cores"
	for _, c := range []struct {
		name   string
		cpu    time.Duration
		change func(*methodspan.Row)
		state  string
		told   string // part of the reason of the alert, or of its resolution
	}{
		{"broken", time.Hour, nil, "BROKEN", "planned are $2.30 a day"},
		{"unknown", time.Second, coreless, "unknown", ""},
		{"broken by process CPU", time.Hour, coreless, "BROKEN", "process CPU of at least $2.40 a day, planned are $2.30 a day; " + lacking}, // 48 core hours at 5 cents
		{"kept", time.Second, func(r *methodspan.Row) { r.Process.Cores = 0.1 }, "kept", "planned are $2.30 a day"},
	} {
		r := computeWith(t, idleShop(t, c.cpu, c.change), Options{Window: date})
		s := r.Spend(Budget{Name: "shop", Scope: rules.Scope{Service: "shop"}, USDPerDay: 2.3})
		if s.state() != c.state || s.Broken != (c.state == "BROKEN") || MayBreak([]Spending{s}) != (c.state == "unknown") {
			t.Errorf("%s: %s: %+v", c.name, s.state(), s)
		}
		why, kept := Kept([]Spending{s})(&alert.Alert{Kind: alert.Budget, Budget: "shop"})
		if s.Broken {
			why = s.Alert(fixture.Start).Reason
		}
		if kept != (c.state == "kept") || !strings.Contains(why, c.told) {
			t.Errorf("%s: kept %t: %s", c.name, kept, why)
		}
		if _, notes := BudgetTable([]Spending{s}); c.state == "unknown" && !strings.Contains(strings.Join(notes, "\n"), ">= budget shop: "+lacking) {
			t.Errorf("%s: %q", c.name, notes)
		}
	}
	for _, c := range []struct {
		a    alert.Alert
		want string
	}{{alert.Alert{Kind: alert.Budget, Budget: "gone"}, "the budget was removed"}, {alert.Alert{Kind: alert.Regression}, ""}} {
		if why, kept := Kept(nil)(&c.a); why != c.want || kept != (c.want != "") {
			t.Errorf("%+v: %t, %s", c.a, kept, why)
		}
	}
}

func FuzzParseBudgets(f *testing.F) {
	f.Add(`{"version":1,"budgets":[{"name":"a","usd_per_day":1}]}`)
	f.Fuzz(func(t *testing.T, data string) {
		b, _, err := ParseBudgets([]byte(data))
		if err != nil {
			return
		}
		for _, x := range b.Budgets {
			if x.Name == "" || !(x.USDPerDay > 0) {
				t.Errorf("%+v", x)
			}
		}
	})
}
