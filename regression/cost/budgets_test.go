package cost

import (
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
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
