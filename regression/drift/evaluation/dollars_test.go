package evaluation

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// The dollars of a drift are a share of the method's cost in the week before the evaluation. Calls without a known
// sampling probability have none, and the alert names their share and the remedy.
func TestEvaluate_AlertDollars(t *testing.T) {
	now := time.Date(2026, 4, 7, 15, 0, 0, 0, time.UTC)
	for _, basis := range []string{methodspan.BasisAssumed, methodspan.BasisExact} {
		assumed := basis == methodspan.BasisAssumed
		if !assumed && testing.Short() {
			continue
		}
		d := fixture.Months()
		d.Price, d.Basis = 0.05, basis
		root := d.Write(t)
		counting := fixture.NewProcess("1.0.0", "c", now.AddDate(0, 0, -12)) // days without counts have an unknown length
		for day := range 6 {
			counting.Counts("shop/seen.Counted", counting.Start.AddDate(0, 0, day), time.Minute, 1)
		}
		fixture.Append(t, root, now.AddDate(0, 0, -6), []methodspan.Item{counting.Item()})
		open := func(ctx context.Context, w query.Window) (*query.Warehouse, error) { return query.Open(ctx, root, w) }
		found, err := Evaluate(t.Context(), Options{Now: now, Zone: time.UTC, Open: open})
		if err != nil || len(found.Alerts) != 2 || len(found.Services) != 1 || (found.Services[0].AssumedShare > 0.99) != assumed {
			t.Fatalf("%s: %+v, %v", basis, found, err)
		}
		last, err := time.Parse(time.DateOnly, *found.Services[0].LastEvaluation)
		if err != nil {
			t.Fatal(err)
		}
		w, err := open(t.Context(), query.Window{From: last.AddDate(0, 0, -7), To: last})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		week, err := cost.Compute(t.Context(), w, cost.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]*cost.Line{}
		for i := range week.Methods {
			lines[week.Methods[i].Method] = &week.Methods[i]
		}
		for _, a := range found.Alerts {
			if strings.Contains(a.Reason, "so there are at least as many: "+methodspan.AssumedRemedy) != assumed || (a.AssumedShare > 0.99) != assumed || (a.USDPerDay == nil) != assumed {
				t.Errorf("%s: share %v, %v dollars: %s", basis, a.AssumedShare, a.USDPerDay, a.Reason)
			}
			if l := lines[a.Method]; !assumed {
				want := *l.InclusiveUSD / week.Services[0].ObservedDays * a.ChangePercent / (100 + a.ChangePercent)
				if math.Abs(*a.USDPerDay/want-1) > 1e-9 || a.USDPerDayBasis != l.USDPerDayBasis {
					t.Errorf("%s: $%v a day, %s, want $%v, %s", a.Method, *a.USDPerDay, a.USDPerDayBasis, want, l.USDPerDayBasis)
				}
			}
		}
	}
}
