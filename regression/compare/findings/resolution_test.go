package findings

import (
	"strings"
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
	comparison := func(base, head string, state evidence.VerdictState) *pairs.Comparison {
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
		{"not proven any more", comparison("1", "2", evidence.NotProven), map[string]bool{alert.Regression: true, alert.MoreCalls: true, alert.WholeService: true}},
		{"not called any more", comparison("1", "2", evidence.Gone), map[string]bool{alert.Regression: true}},
		{"too few records", comparison("1", "2", evidence.FewRecords), nil},
		{"rolled back", comparison("2", "1", evidence.FewRecords), map[string]bool{alert.Regression: true, alert.MoreCalls: true, alert.WholeService: true}},
		{"a newer version at the same cost", comparison("2", "3", evidence.NotProven), nil},
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
	blocking := comparison("1", "2", evidence.NotProven)
	blocking.Methods[0].Metric = string(query.Wall)
	resolved := (&Findings{Comparisons: []*pairs.Comparison{blocking}, Threshold: 2}).resolved
	for metric, want := range map[string]bool{"wall": true, "cpu": false} {
		a := &alert.Alert{Kind: alert.Regression, Service: "shop", Class: "shop", Method: "total", Metric: metric, Basis: "own", BaseVersion: "1", HeadVersion: "2", Base: 100}
		if _, gone := resolved(a); gone != want {
			t.Errorf("an alert by %s time of a method that is judged by wall time: gone %t", metric, gone)
		}
	}
}

// The level of a method, and the versions, decide whether the alert of a regression is resolved.
func TestFindings_ResolutionByLevel(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, head string
		change     func(*pairs.Comparison, *evidence.Verdict)
		want       string // empty = it stays open
	}{
		{"still slower", "1", "3", func(_ *pairs.Comparison, l *evidence.Verdict) { l.HeadNSPerCall = 211 }, ""},
		{"back at the base", "2", "3", func(_ *pairs.Comparison, l *evidence.Verdict) { l.HeadNSPerCall = 102 }, "version 3 takes 102ns per call; before the alert it took 100ns"},
		{"within a tenth of the growth", "2", "3", func(_ *pairs.Comparison, l *evidence.Verdict) { l.HeadNSPerCall = 110 }, "version 3 takes 110ns per call"},
		{"above a tenth of the growth", "2", "3", func(_ *pairs.Comparison, l *evidence.Verdict) { l.HeadNSPerCall = 111 }, ""},
		{"by its callees", "1", "2", func(_ *pairs.Comparison, l *evidence.Verdict) { l.State = evidence.Explained }, "more expensive only because of its callees"},
		{"by its callees in a later version", "2", "3", func(_ *pairs.Comparison, l *evidence.Verdict) { l.State = evidence.Explained }, ""},
		{"not significant", "1", "2", func(_ *pairs.Comparison, l *evidence.Verdict) { l.State = evidence.NotProven }, "the same comparison shows +3.0% now"},
		{"another basis", "2", "3", func(_ *pairs.Comparison, l *evidence.Verdict) { l.HeadNSPerCall, l.Basis = 100, "inclusive" }, ""},
		{"no basis", "1", "2", func(_ *pairs.Comparison, l *evidence.Verdict) { l.State, l.Basis = evidence.NotProven, "" }, ""},
		{"another method", "1", "2", func(_ *pairs.Comparison, l *evidence.Verdict) { l.State, l.Method = evidence.Gone, "other" }, ""},
		{"a service of the same name", "1", "2", func(c *pairs.Comparison, l *evidence.Verdict) { l.State, c.Namespace = evidence.Gone, "bank" }, ""},
		{"another environment", "1", "2", func(c *pairs.Comparison, l *evidence.Verdict) { l.State, c.Environment = evidence.Gone, "test" }, ""},
	} {
		l := evidence.Verdict{Class: "shop", Method: "total", State: evidence.Regressed, Basis: "own", Metric: "cpu", HeadNSPerCall: 200, ChangePercent: number(3)}
		found := &pairs.Comparison{Service: query.Service{Name: "shop"}, BaseVersion: c.base, HeadVersion: c.head, Metric: query.CPU}
		c.change(found, &l)
		found.Methods = []evidence.Verdict{l}
		a := &alert.Alert{Kind: alert.Regression, Service: "shop", Class: "shop", Method: "total", Metric: "cpu", Basis: "own", BaseVersion: "1", HeadVersion: "2", Base: 100, Head: 200}
		if why, gone := (&Findings{Comparisons: []*pairs.Comparison{found}, Threshold: 2}).resolved(a); gone != (c.want != "") || !strings.HasPrefix(why, c.want) {
			t.Errorf("%s: %t, %q, want %q", c.name, gone, why, c.want)
		}
	}
}
