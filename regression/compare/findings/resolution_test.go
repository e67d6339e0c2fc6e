package findings

import (
	"testing"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/query"
)

// An alert that an evaluation did not raise again is either resolved or stays open.
func TestFindings_Resolution(t *testing.T) {
	shop := query.Service{Name: "shop"}
	change := 3.0
	compared := func(base, head string, state evidence.VerdictState) *pairs.Comparison {
		c := &pairs.Comparison{Service: shop, BaseVersion: base, HeadVersion: head, Metric: query.CPU}
		c.Methods = []evidence.Verdict{{Class: "shop", Method: "total", State: state, Basis: "own", Metric: string(query.CPU), HeadNSPerCall: 150, ChangePercent: &change}}
		if state == evidence.NotProven {
			c.WholeService = &evidence.Verdict{State: state}
		}
		return c
	}
	for _, test := range []struct {
		name  string
		found *pairs.Comparison
		gone  map[string]bool // kind of alert -> resolved
	}{
		{"not proven any more", compared("1", "2", evidence.NotProven), map[string]bool{alert.Regression: true, alert.MoreCalls: true, alert.WholeService: true}},
		{"not called any more", compared("1", "2", evidence.Gone), map[string]bool{alert.Regression: true}},
		{"too few records", compared("1", "2", evidence.FewRecords), nil},
		{"rolled back", compared("2", "1", evidence.FewRecords), map[string]bool{alert.Regression: true, alert.MoreCalls: true, alert.WholeService: true}},
		{"a newer version, as dear", compared("2", "3", evidence.NotProven), nil},
	} {
		resolved := (&Findings{Comparisons: []*pairs.Comparison{test.found}, Threshold: 2}).resolved
		for _, kind := range []string{alert.Regression, alert.MoreCalls, alert.WholeService, alert.Budget} {
			a := &alert.Alert{Kind: kind, Caller: map[string]string{alert.MoreCalls: "shop.list"}[kind], Service: "shop", Class: "shop", Method: "total", Metric: "cpu", Basis: "own", BaseVersion: "1", HeadVersion: "2", Base: 100}
			if why, gone := resolved(a); gone != test.gone[kind] || gone == (why == "") {
				t.Errorf("%s: %s: %t, %q", test.name, kind, gone, why)
			}
		}
	}
	// A method can be judged by wall time while the service is judged by CPU time.
	blocking := compared("1", "2", evidence.NotProven)
	blocking.Methods[0].Metric = string(query.Wall)
	resolved := (&Findings{Comparisons: []*pairs.Comparison{blocking}, Threshold: 2}).resolved
	for metric, want := range map[string]bool{"wall": true, "cpu": false} {
		a := &alert.Alert{Kind: alert.Regression, Service: "shop", Class: "shop", Method: "total", Metric: metric, Basis: "own", BaseVersion: "1", HeadVersion: "2", Base: 100}
		if _, gone := resolved(a); gone != want {
			t.Errorf("an alert by %s time of a method that is judged by wall time: gone %t", metric, gone)
		}
	}
}
