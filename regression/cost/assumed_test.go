package cost

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// foreignCalls returns a warehouse with 200 spans of another SDK, which stand for 400 calls, and a method of our SDK.
func foreignCalls(t *testing.T, basis string) string {
	t.Helper()
	p := fixture.NewProcess("1", "other", fixture.Start)
	for n := range 200 {
		row := p.Call("web.Serve", "(entry)", fixture.Start.Add(time.Duration(n)*20*time.Second), time.Millisecond, time.Millisecond, 0.5, 1)
		row.WeightBasis, row.Calls = basis, 2
	}
	own := fixture.NewProcess("1", "own", fixture.Start)
	own.Counts("web.Own", fixture.Start, time.Minute, 100)
	for i := range 50 {
		own.Call("web.Own", "(entry)", fixture.Start.Add(time.Duration(i)*time.Second), time.Millisecond, time.Millisecond, 0.5, 1)
	}
	return fixture.Write(t, []methodspan.Item{p.Item(), own.Item()})
}

// Calls with the weight basis "assumed" are lower bounds. A note names the remedy, they have dollars only with
// IncludeAssumed, and a budget that contains them cannot be kept.
func TestAssumed_LowerBounds(t *testing.T) {
	const note = "assumed: store/shop (production): 400 calls are a lower bound, because their sampling probability is unknown: use a consistent sampler"
	budgets := []Budget{{Name: "web", Scope: rules.Scope{Class: "web"}, USDPerDay: 1000}, {Name: "shop", USDPerDay: 1000}}
	for _, basis := range []string{
		methodspan.BasisAssumed, methodspan.BasisThreshold, methodspan.BasisEstimated, methodspan.BasisConfigured, methodspan.BasisInherited, methodspan.BasisLegacy,
	} {
		assumed := basis == methodspan.BasisAssumed
		root := foreignCalls(t, basis)
		r := computeWith(t, root, Options{Window: date})
		var spendings []Spending
		for _, b := range budgets {
			s := r.Spend(b)
			spendings = append(spendings, s)
			if (s.AssumedCalls == 400) != assumed || strings.Contains(s.AtLeast, "400 calls are a lower bound") != assumed || s.SpentUSD == nil || (s.Interval == nil) != assumed || s.unknown() != assumed {
				t.Errorf("%s: %+v", basis, s)
			}
		}
		if MayBreak(spendings) != assumed {
			t.Errorf("%s: a budget may break: %t", basis, !assumed)
		}
		if notes := strings.Join(r.notes(fixture.Evening), "\n"); strings.Contains(notes, note) != assumed || strings.Contains(notes, "assumed") != assumed {
			t.Errorf("%s: %s", basis, notes)
		}
		for i := range r.Methods {
			m := &r.Methods[i]
			if least := assumed && m.Method == "Serve"; (m.SelfUSD == nil) != least || (m.AssumedCalls == 400) != least || strings.HasPrefix(m.CallsText(), ">= 400") != least {
				t.Errorf("%s: %+v", basis, m)
			}
			if m.Method == "Serve" && !assumed && !strings.HasPrefix(m.CallsText(), "~400 ±") {
				t.Errorf("%s: calls %s of sampled spans are an estimate", basis, m.CallsText())
			}
		}
		if !assumed {
			continue
		}
		for _, m := range computeWith(t, root, Options{Window: date, IncludeAssumed: true}).Methods {
			if m.SelfUSD == nil || m.Method == "Serve" && m.AssumedCalls != 400 {
				t.Errorf("with assumed calls: %+v", m)
			}
		}
	}
}

func TestFew(t *testing.T) {
	notes := slices.Repeat([]string{MergedNote(query.Service{Name: "shop"})}, mostNotes+3)
	if got := Few(notes[:mostNotes]); len(got) != mostNotes || !strings.Contains(got[0], "processes may be merged: shop") {
		t.Errorf("%q", got)
	}
	if got := Few(notes); len(got) != mostNotes+1 || !strings.HasPrefix(got[mostNotes], "3 more notes like these") {
		t.Errorf("%q", got)
	}
}
