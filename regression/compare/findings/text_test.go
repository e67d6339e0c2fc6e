package findings

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/golden"
)

func number(x float64) *float64 { return &x }

// comparison returns the comparison of version 2 of a service with version 1.
func comparison(service string, methods ...evidence.Verdict) *pairs.Comparison {
	return &pairs.Comparison{
		Service: query.Service{Namespace: "store", Name: service, Environment: "production"}, BaseVersion: "1", HeadVersion: "2",
		BaseRevision: "abc", HeadRevision: "2", ChosenBy: pairs.ByProcessStart, Metric: query.CPU, Clusters: "by process", Methods: methods,
	}
}

// judged returns the verdict on a method that costs 1 ms per call in the head version.
func judged(method string, state evidence.VerdictState, percent float64) evidence.Verdict {
	return evidence.Verdict{
		Class: "shop", Method: method, State: state, Basis: "standardised", Metric: "cpu", BaseNSPerCall: 1e6 / (1 + percent/100), HeadNSPerCall: 1e6,
		ChangePercent: &percent, Interval: &[2]float64{percent - 1, percent + 1}, BaseRecords: 100, HeadRecords: 200, BaseClusters: 2, HeadClusters: 3,
		Measured: &evidence.Part{Percent: percent + 5}, Inclusive: &evidence.Part{Percent: percent}, Seen90Percent: number(3), CommonReason: "few methods",
	}
}

// raise adds an alert of a method to a comparison.
func raise(c *pairs.Comparison, kind, id, method string, change func(*alert.Alert)) alert.Alert {
	a := alert.Alert{
		ID: id, Kind: kind, ServiceNamespace: c.Namespace, Service: c.Name, Environment: c.Environment, Class: "shop", Method: method, Severity: alert.Warning, Owner: "team",
		BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, BaseRevision: c.BaseRevision, HeadRevision: c.HeadRevision, Metric: "cpu", Basis: "standardised",
		Base: 5e5, Head: 1e6, ChangePercent: 100, Interval: [2]float64{90, 110}, Reason: "the reason", FirstSeen: fixture.Start, RaisedAt: fixture.Start,
	}
	change(&a)
	c.Alerts = append(c.Alerts, a)
	return a
}

// example contains a service with alerts of every kind, one without a regression and one that was not compared.
func example() *Findings {
	shop := comparison("shop",
		judged("regressed", evidence.Regressed, 100), judged("accepted", evidence.Regressed, 40), judged("muted", evidence.Regressed, 30),
		judged("caller", evidence.Explained, 20), judged("same", evidence.NotProven, 0.5), judged("called", evidence.NotProven, 1),
		evidence.Verdict{Class: "shop", Method: "few", State: evidence.FewRecords, Metric: "cpu", BaseRecords: 3},
		evidence.Verdict{Class: "shop", Method: "blocking", State: evidence.FewRecords, Metric: "cpu"},
		evidence.Verdict{Class: "shop", Method: "cold", State: evidence.FewRecords, Metric: "cpu", NotCompared: 9},
		evidence.Verdict{Class: "shop", Method: "new", State: evidence.New, Signature: "(int)"}, evidence.Verdict{Class: "shop", Method: "gone", State: evidence.Gone})
	whole := judged("", evidence.Regressed, 10)
	whole.Reason = "all methods: +10.0%"
	shop.WholeService, shop.Warnings = &whole, []string{"time buckets of 30s"}
	f := &Findings{Threshold: 2, Sorted: delivery.NewSorted(), Warnings: []string{"a clock is ahead"}}
	f.Alerts = []alert.Alert{
		raise(shop, alert.Regression, "id1", "regressed", func(a *alert.Alert) { a.USDPerDay, a.USDPerDayBasis = number(12), "ran for 2 h" }),
		raise(shop, alert.MoreCalls, "id2", "called", func(a *alert.Alert) {
			a.Caller, a.Basis, a.Base, a.Head, a.ChangePercent = "shop.regressed", "calls", 1, 3, 200
		}),
		raise(shop, alert.WholeService, "id3", "", func(a *alert.Alert) { a.Class, a.Base, a.Head, a.ChangePercent = "", 0, 0, 10 }),
	}
	f.Accepted = []delivery.AcceptedAlert{{Alert: raise(shop, alert.Regression, "id4", "accepted", func(*alert.Alert) {}),
		Acceptance: state.Acceptance{By: "ann", At: fixture.Start, Reason: "meant"}}}
	f.Silenced = []delivery.SilencedAlert{{Alert: raise(shop, alert.Regression, "id5", "muted", func(*alert.Alert) {}), Until: fixture.Start.Add(time.Hour), Reason: "quiet"}}
	f.Comparisons = []*pairs.Comparison{comparison("cart", judged("same", evidence.NotProven, 0)), shop}
	f.NotCompared = []pairs.Skip{{Service: query.Service{Name: "job"}, Reason: `only version "7" was seen`, Records: 5}}
	return f
}

func written(t *testing.T, f *Findings, format output.Format, top int) string {
	t.Helper()
	var text bytes.Buffer
	d := f.Document(output.View{Format: format, Top: top, Verbose: top == 0})
	d.Wide = true
	if err := d.Write(&text, format); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestDocument_Formats(t *testing.T) {
	f := example()
	golden.Check(t, "findings.txt", written(t, f, output.Text, 0))
	golden.Check(t, "findings.md", written(t, f, output.MarkdownPage, 0))
	golden.Check(t, "findings.csv", written(t, f, output.CSV, 0))
	nothing := &Findings{Threshold: 2, Sorted: delivery.NewSorted(), Comparisons: f.Comparisons[:1]}
	golden.Check(t, "nothing.txt", written(t, nothing, output.Text, 0))
	golden.Check(t, "nothing.md", written(t, nothing, output.MarkdownPage, 0))
}

// Top limits the services without an alert. A service with an alert and its regressed methods are always printed.
func TestDocument_Top(t *testing.T) {
	f := example()
	for range manyLines {
		f.Comparisons[1].Methods = append(f.Comparisons[1].Methods, judged("many", evidence.NotProven, 0))
	}
	f.Comparisons = append(f.Comparisons, comparison("mail", judged("a", evidence.NotProven, 0), judged("b", evidence.NotProven, 0)))
	f.NotCompared = append(f.NotCompared, pairs.Skip{Service: query.Service{Name: "batch"}, Reason: "few", Records: 6})
	text := written(t, f, output.Text, 1)
	for _, want := range []string{"store/shop (production) 2: 3 regressions; ", "regressed", "services with ", "job: not compared", "batch: not compared", "many"} {
		shown := strings.Contains(text, want)
		if hidden := slices.Contains([]string{"job: not compared", "many"}, want); shown == hidden {
			t.Errorf("%q: printed %t:\n%s", want, shown, text)
		}
	}
	if all := written(t, f, output.Text, 0); !strings.Contains(all, "many") || !strings.Contains(all, "job: not compared") {
		t.Errorf("not everything is printed:\n%s", all)
	}
	if csv := written(t, f, output.CSV, 1); strings.Count(csv, "\n") != 1+1+11+manyLines+2 {
		t.Errorf("not every method is in\n%s", csv)
	}
}

func TestDocument_NothingRaised(t *testing.T) {
	undecided := judged("a", evidence.Undecided, 30)
	for _, c := range []struct {
		name string
		f    Findings
		want string
	}{
		{"no regression", Findings{Threshold: 2.5, Comparisons: []*pairs.Comparison{comparison("shop", judged("a", evidence.NotProven, 0))}}, "no method regressed by more than 2.5%"},
		{"no data", Findings{CouldNotTell: true}, "could not tell: no method could be compared"},
		{"undecided", Findings{CouldNotTell: true, Comparisons: []*pairs.Comparison{{Methods: []evidence.Verdict{undecided}, WholeService: &undecided}}}, "1 method and 1 whole service measured to be more than 20% more expensive"},
	} {
		for _, format := range []output.Format{output.Text, output.MarkdownPage} {
			if text := written(t, &c.f, format, 0); !strings.Contains(text, c.want) {
				t.Errorf("%s: no %q in\n%s", c.name, c.want, text)
			}
		}
		if c.f.Found() || c.f.Inconclusive() != c.f.CouldNotTell {
			t.Errorf("%s: found %t, inconclusive %t", c.name, c.f.Found(), c.f.Inconclusive())
		}
	}
	if f := example(); !f.Found() || f.Inconclusive() {
		t.Error("the example has alerts")
	}
}

// Every state has a name in text.
func TestStateNames(t *testing.T) {
	for _, s := range []evidence.VerdictState{
		evidence.Regressed, evidence.Explained, evidence.NotProven, evidence.Undecided, evidence.WithService, evidence.Pending, evidence.Moved,
		evidence.FewRecords, evidence.FewBuckets, evidence.New, evidence.Gone,
	} {
		if StateNames[s] == "" {
			t.Errorf("%s has no name", s)
		}
	}
}

// An open verdict is printed with the data that would decide it, and a service with the time until its methods have enough records.
func TestDocument_OpenVerdict(t *testing.T) {
	undecided, few, fewer := judged("a", evidence.Undecided, 30), judged("b", evidence.FewRecords, 0), judged("c", evidence.FewRecords, 0)
	undecided.FullName = "shop.a"
	undecided.Needed = &evidence.Needed{Minutes: 25, Records: 400, Text: "needs 400 records"}
	few.Needed, fewer.Needed = &evidence.Needed{Minutes: 3.2, Records: 30}, &evidence.Needed{Minutes: 150, Records: 30}
	f := Findings{CouldNotTell: true, Comparisons: []*pairs.Comparison{comparison("shop", undecided, few, fewer)}}
	text := strings.Join(strings.Fields(written(t, &f, output.Text, 9)), " ")
	for _, want := range []string{"store/shop (production): shop.a: not enough data: needs 400 records", "2 too few records (30 of each version in 4 min to 3 h)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestMissable_Range(t *testing.T) {
	for want, seen := range map[string][2]float64{
		"changes under +20% can be missed":                      {20, 20},
		"changes under +20% to +300% can be missed, by method":  {20, 300},
		"changes under +20% can be missed, in some methods any": {20, 1e8},
		"changes under x11 to x21 can be missed, by method":     {1000, 2000},
	} {
		a, b := judged("a", evidence.NotProven, 0), judged("b", evidence.NotProven, 0)
		a.Seen90Percent, b.Seen90Percent = &seen[0], &seen[1]
		if got := missable(comparison("shop", a, b)); got != want {
			t.Errorf("%v: %q, want %q", seen, got, want)
		}
	}
}
