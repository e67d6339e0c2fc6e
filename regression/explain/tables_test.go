package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// priced returns a line with a self cost of one dollar a day.
func priced(change func(*cost.Line)) *cost.Line {
	l := &cost.Line{
		Calls: 400, CPUNSPerCall: number(2e6), WallNSPerCall: number(3e6), SelfCoreHours: number(2), SelfCoreHoursInterval: &[2]float64{1, 3},
		SelfUSDPerDay: number(1), SelfUSDPerMonth: number(30.4), USDPerDayBasis: "ran for 2 h",
	}
	change(l)
	return l
}

func TestDocument_Facts(t *testing.T) {
	at := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	moreCalls := alert.Alert{ID: "id1", Kind: alert.MoreCalls, Caller: "shop.Serve", Resolution: "version 1 is back"}
	change, since := 12.5, "2026-03-01"
	for _, c := range []struct {
		name string
		a    Account
		want string // lines of the table of facts, without the padding
		no   string
	}{
		{"nothing measured", Account{}, "cost nothing measured\nverdict nothing to compare\ndrift too little history", "own cost"},
		{"no verdict", Account{NoVerdict: `only version "1" was seen`, NoDrift: "no closed day"}, "verdict only version \"1\" was seen\ndrift no closed day", "condition"},
		{"cost", Account{Cost: priced(func(*cost.Line) {})},
			"CPU time of a call 2ms with all it calls\nwall time of a call 3ms\nown cost $1.00 a day, $30.40 a month, 95% interval -50.0% to +50.0%; ran for 2 h\n", "~"},
		{"uncertain", Account{Cost: priced(func(l *cost.Line) { l.Uncertain, l.Why, l.Warning = true, "too few", "not printed" })}, "own cost ~ $1.00 a day, $30.40 a month, 95% interval -50.0% to +50.0%, too few; ran", "not printed"},
		{"no interval", Account{Cost: priced(func(l *cost.Line) { l.Uncertain, l.Why, l.SelfCoreHoursInterval = true, "too few", nil })}, "own cost ~ $1.00 a day, $30.40 a month, too few; ran", "interval"},
		{"warning", Account{Cost: priced(func(l *cost.Line) { l.Warning = "few records" })}, "+50.0%, few records; ran", "generic"},
		{"generic price", Account{Cost: priced(func(l *cost.Line) { l.GenericPrice = true })}, "ran for 2 h, generic price\n", "~"},
		{"no price", Account{Cost: priced(func(l *cost.Line) { l.SelfUSDPerDay, l.GenericPrice = nil, true })}, "own cost not known: no price, or no CPU measured\n", "generic"},
		{"assumed calls", Account{Cost: priced(func(l *cost.Line) { l.SelfUSDPerDay, l.AssumedCalls = nil, 400 })},
			"calls >= 400; " + cost.AssumedNote(query.Service{}, 400) + "\n|own cost no dollars of calls with a lower bound only; corehour cost --include-assumed has them", "no price"},
		{"assumed calls without CPU", Account{Cost: priced(func(l *cost.Line) {
			l.SelfUSDPerDay, l.SelfCoreHours, l.SelfCoreHoursInterval, l.AssumedCalls = nil, nil, nil, 400
		})}, "own cost not known: no price", "--include-assumed"},
		{"regressed", Account{Verdict: &Verdict{
			BaseVersion: "1", HeadVersion: "2", ChosenBy: "version order", Metric: query.CPU, Compared: "by process",
			Verdict: evidence.Verdict{State: evidence.Regressed, Measured: &evidence.Part{Percent: 20}, Common: &evidence.Part{Percent: 5}, CommonReason: "all methods",
				Remaining: &evidence.Part{Percent: 15}, Inclusive: &evidence.Part{Percent: 18}, Seen90Percent: number(9), PowerAt10: number(0.91), MixPercent: number(-1)},
			Trace:  evidence.Trace{Decided: "an alert: every condition holds", Predicates: []evidence.Predicate{{Name: "change"}}},
			Alerts: []named{{ID: "id", Kind: alert.Regression, USDPerDay: number(3), USDPerDayBasis: "a day", GenericPrice: true}}, Warnings: []string{"short"},
		}}, "compared version 2 with 1 (chosen by version order, because nothing says which began first) by cpu time: by process\nverdict REGRESSED\nwhy an alert: every condition holds\n" +
			"measured change +20.0% (0.0% to 0.0%)\nsubtracted +5.0% (0.0% to 0.0%): all methods\nremaining change +15.0% (0.0% to 0.0%)\ninclusive change +18.0% (0.0% to 0.0%)\n" +
			"power +9.0% would have been seen with 90% probability, +10% with 91.0%\ncaller mix -1.0%, not part of the change\nalert id, regression, $3.00 generic a day more; a day\nweakened short\n" +
			"|change -", "nothing to compare"},
		{"not identified", Account{Verdict: &Verdict{Verdict: evidence.Verdict{State: evidence.NotProven, Measured: &evidence.Part{}, Inclusive: &evidence.Part{}, CommonReason: "few methods"}}},
			"verdict ~\n|subtracted nothing: few methods\ninclusive change", "remaining change"},
		{"not measured", Account{Verdict: &Verdict{Verdict: evidence.Verdict{State: evidence.FewRecords}}}, "verdict too few records\n", "measured change"},
		{"more calls", Account{Verdict: &Verdict{Alerts: []named{{ID: "id", Kind: alert.MoreCalls, Caller: "shop.Serve"}}}}, "alert id, more_calls by shop.Serve\n", "$"},
		{"drift", Account{Drift: &evaluation.Verdict{State: evaluation.Confirmed, Shape: "rise", ChangePercent: &change, Interval: &[2]float64{9, 16}, Since: &since}},
			"drift DRIFT: a rise of +12.5% (95% interval +9.0% to +16.0%) since 2026-03-01\n", "history"},
		{"no drift", Account{Drift: &evaluation.Verdict{State: evaluation.NotProven}}, "drift ~ not significantly more expensive over weeks\n", "history"},
		{"short history", Account{Drift: &evaluation.Verdict{State: evaluation.TooLittleHistory}}, "drift too little history\n", "weeks"},
		{"people", Account{
			Accepted: []state.Acceptance{
				{Kind: alert.Regression, Metric: "cpu", Level: 2000, By: "ann", At: at, Reason: "meant"},
				{Kind: alert.MoreCalls, Level: 3, At: at, Reason: "audited"},
			},
			Silenced: []delivery.SilencedAlert{{Until: at, Reason: "quiet"}},
			Open:     []state.OpenAlert{{Alert: moreCalls, Raised: at}, {Alert: moreCalls, Raised: at, Resolved: true}},
		}, "accepted 2us of cpu time per call: accepted by ann on 2026-03-10 because meant\naccepted 3 calls per call of its caller: accepted by somebody on 2026-03-10 because audited\n" +
			"muted until 2026-03-10T09:00:00Z because quiet\nsent id1, more_calls by shop.Serve, raised 2026-03-10T09:00:00Z, open\n" +
			"sent id1, more_calls by shop.Serve, raised 2026-03-10T09:00:00Z, resolved: version 1 is back\n", "3ns"},
	} {
		text := ""
		for line := range strings.Lines(written(t, &Answer{Methods: []Account{c.a}}, output.Text)) {
			text += strings.Join(strings.Fields(line), " ") + "\n"
		}
		for _, want := range strings.Split(c.want, "|") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no\n%s\nin\n%s", c.name, want, text)
			}
		}
		if strings.Contains(text, c.no) {
			t.Errorf("%s: %q in\n%s", c.name, c.no, text)
		}
	}
}

func TestDocument_Versions(t *testing.T) {
	a := Account{MethodName: sampled("a", "B", "", 0).MethodName, Versions: []query.Sampling{
		{Revision: "abc", First: fixture.Start, Last: fixture.Start, Calls: 7, Measured: 7, Bases: []string{methodspan.BasisExact}},
		{Version: "2", Revision: "2", Calls: 200, Measured: 100, CPUMeasured: 50, P: 0.5, LowestP: 0.25, HighestP: 1, CPUP: 0.5, ConfiguredRate: 0.1,
			Bases: []string{methodspan.BasisAssumed, methodspan.BasisThreshold}, Tier: "inner"},
		{Version: "3", Calls: 400, CallsSE: 34.64, Measured: 100, P: 0.25, Bases: []string{methodspan.BasisThreshold}},
	}}
	text := written(t, &Answer{Methods: []Account{a}}, output.MarkdownPage)
	for _, want := range []string{
		"a.B of shop",
		"| unknown (abc) | 2026-03-10 09:00:00 UTC | 2026-03-10 09:00:00 UTC | 7 | 7 | 0 | - | - | - | - | exact | - |",
		"| 100 | 50 | 50% | 25% to 100% | 50% | 10% | assumed, threshold | inner |", "| &gt;= 200 |", "| 2 |", `| \~400 ±68 |`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
