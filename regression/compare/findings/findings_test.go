package findings_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/golden"
)

// evaluate compares the versions of all services of a warehouse at a time. adapt, if not nil, changes the options.
func evaluate(t *testing.T, root string, now time.Time, rule pairs.Rule, adapt func(*pairs.Options)) *findings.Findings {
	t.Helper()
	w, err := query.Open(t.Context(), root, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	o := pairs.Options{Limits: rule.Default(), AsOf: now}
	if rule == (pairs.EvidenceRule{}) {
		o.WarmUp = evidence.Learn
	}
	if adapt != nil {
		adapt(&o)
	}
	found, err := findings.Evaluate(t.Context(), w, query.Filter{}, rule, o)
	if err != nil || found == nil {
		t.Fatal(found, err)
	}
	return found
}

func written(t *testing.T, d *output.Document, f output.Format) string {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFindings_TwoReleases(t *testing.T) {
	root := fixture.TwoReleases(t, 0.5)
	found := evaluate(t, root, fixture.Evening, pairs.EvidenceRule{}, nil)
	golden.Check(t, "evidence.txt", deliver(t, dispatcher(t), found))
	golden.Check(t, "evidence.md", written(t, found.Document(output.View{Format: output.MarkdownPage, Top: 20}), output.MarkdownPage))
	rows, err := csv.NewReader(strings.NewReader(written(t, found.Document(output.View{Format: output.CSV, Top: 20}), output.CSV))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("%d lines of CSV, %v", len(rows), err)
	}
	if !found.Found() || found.Inconclusive() || len(found.Alerts) != 1 {
		t.Fatalf("%+v", found)
	}
	a := &found.Alerts[0]
	if a.Class != "shop/tax" || a.Method != "Rate" || a.BaseVersion != "1.9.0" || a.HeadVersion != "1.10.0" || a.EValue == nil || *a.EValue < 20 ||
		a.ChangePercent < 70 || a.ChangePercent > 130 || !covers(a.Interval, a.ChangePercent) {
		t.Errorf("%+v", a)
	}
	// The threshold rule has no e-values.
	golden.Check(t, "threshold.txt", deliver(t, dispatcher(t), evaluate(t, root, fixture.Evening, pairs.ThresholdRule{}, nil)))
	for name, adapt := range map[string]func(*pairs.Options){
		"an improvement": func(o *pairs.Options) { o.Base, o.Head = "1.10.0", "1.9.0" },
		"a threshold":    func(o *pairs.Options) { o.ThresholdPercent = 500 },
	} {
		if found := evaluate(t, root, fixture.Evening, pairs.EvidenceRule{}, adapt); found.Found() || found.Inconclusive() {
			t.Errorf("%s: %+v", name, found.Alerts)
		}
	}
}

// JSON has empty lists, not null, and every field of an alert.
func TestFindings_JSON(t *testing.T) {
	found := evaluate(t, fixture.TwoReleases(t, 1), fixture.Evening, pairs.EvidenceRule{}, nil)
	deliver(t, dispatcher(t), found)
	var lists map[string]any
	if err := json.Unmarshal([]byte(written(t, found.Document(output.View{Format: output.JSON, Top: 20}), output.JSON)), &lists); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"alerts", "accepted", "silenced", "comparisons", "not_compared"} {
		if _, ok := lists[list].([]any); !ok {
			t.Errorf("%s is %v, no list", list, lists[list])
		}
	}
	alert := lists["alerts"].([]any)[0].(map[string]any)
	for _, field := range []string{
		"schema", "id", "kind", "service", "environment", "class", "method", "signature", "base_version", "head_version",
		"base_revision", "head_revision", "metric", "base", "head", "change_percent", "interval", "e_value", "records",
		"usd_per_day", "first_seen", "knowable_since", "raised_at", "severity", "owner", "reason", "links",
	} {
		if _, ok := alert[field]; !ok {
			t.Errorf("the alert has no %s", field)
		}
	}
}

func TestFindings_NotEnoughData(t *testing.T) {
	one, _ := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 5}.Run()
	nameless, _ := fixture.Shop{Seed: 1, Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 5}.Run()
	for name, c := range map[string]struct{ root, want string }{
		"one version": {fixture.Write(t, one), `only version "1" was seen`},
		"no version":  {fixture.Write(t, nameless), "set service.version"},
		"few records": {fixture.TwoReleases(t, 1), "4 too few records"},
	} {
		found := evaluate(t, c.root, fixture.Evening, pairs.EvidenceRule{}, func(o *pairs.Options) { o.MinRecords = 100_000 })
		text := written(t, found.Document(output.View{Format: output.Text, Top: 20}), output.Text)
		if found.Found() || !found.Inconclusive() || !strings.Contains(strings.Join(strings.Fields(text), " "), c.want) {
			t.Errorf("%s: no %q in %s", name, c.want, text)
		}
	}
}

// dispatcher returns a dispatcher with an empty state, whose clock stands still.
func dispatcher(t *testing.T) *delivery.Dispatcher {
	return &delivery.Dispatcher{Store: state.At(t.TempDir()), Now: func() time.Time { return fixture.Evening }}
}

// deliver delivers findings with the state and the silences of d, without sinks, and returns the text.
func deliver(t *testing.T, d *delivery.Dispatcher, found *findings.Findings) string {
	t.Helper()
	if _, err := found.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return written(t, found.Document(output.View{Format: output.Text, Top: 20}), output.Text)
}

// An accepted slowdown raises no alert until the method becomes still more expensive, or the acceptance is withdrawn.
func TestFindings_Accepted(t *testing.T) {
	root := fixture.TwoReleases(t, 1)
	evening := fixture.Evening
	d := dispatcher(t)
	found := evaluate(t, root, evening, pairs.EvidenceRule{}, nil)
	a := found.Alerts[0]
	if err := d.Store.Update(func(s *state.State) error {
		_, err := s.Accept(&a, "ann", "it rounds right now", evening)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	text := deliver(t, d, found)
	if found.Found() || !strings.Contains(text, "accepted by ann on 2026-03-10 because it rounds right now") || strings.Contains(text, "REGRESSED") ||
		!regexp.MustCompile(`shop/tax\.Rate +accepted `).MatchString(text) {
		t.Errorf("%s", text)
	}
	fixture.ThirdRelease(t, root, "1.11.0", 4*fixture.DefaultOwnCPU()[fixture.Rate])
	found = evaluate(t, root, evening.Add(time.Hour), pairs.EvidenceRule{}, nil)
	if text = deliver(t, d, found); len(found.Alerts) != 1 || !strings.Contains(text, "store/shop 1.10.0 -> 1.11.0") {
		t.Errorf("twice the accepted level: %s", text)
	}
}

// A silenced alert is not raised until the silence ends.
func TestFindings_Silenced(t *testing.T) {
	now := fixture.Evening
	silences, _, err := rules.ParseSilences(fmt.Appendf(nil, `{"version":1,"silences":[{"service":"shop","method":"shop/tax.R","until":%q,"reason":"tax day"}]}`, now.Add(time.Hour).Format(time.RFC3339)))
	if err != nil {
		t.Fatal(err)
	}
	d := &delivery.Dispatcher{Store: state.At(t.TempDir()), Silences: silences, Now: func() time.Time { return now }}
	root := fixture.TwoReleases(t, 1)
	found := evaluate(t, root, now, pairs.EvidenceRule{}, nil)
	alerts := found.Alerts
	text := deliver(t, d, found)
	if found.Found() || !strings.Contains(text, "muted until 2026-03-10T12:00:00Z because tax day") || !regexp.MustCompile(`shop/tax\.Rate +silenced `).MatchString(text) {
		t.Errorf("%s", text)
	}
	now = now.Add(time.Hour)
	found.Alerts = alerts
	if text = deliver(t, d, found); !found.Found() || !strings.Contains(text, "REGRESSED") {
		t.Errorf("after its end: %s", text)
	}
}

// inbox is a sink that accepts every message.
type inbox struct{ got []string }

func (*inbox) Name() string    { return "inbox" }
func (*inbox) Refreshes() bool { return false }

func (in *inbox) Send(_ context.Context, m alert.Message) error {
	for i := range m.Alerts {
		in.got = append(in.got, fmt.Sprintf("%s %s: %s", m.Status, m.Alerts[i].Method, m.Alerts[i].Resolution))
	}
	return nil
}

// An alert is resolved by a release that is as cheap as the version before it.
func TestFindings_Resolved(t *testing.T) {
	root := fixture.TwoReleases(t, 1)
	in, d := &inbox{}, dispatcher(t)
	d.Targets, d.Timeout, d.Grace = []delivery.Target{{Sink: in}}, time.Minute, time.Minute
	deliver(t, d, evaluate(t, root, fixture.Evening, pairs.EvidenceRule{}, nil))
	fixture.ThirdRelease(t, root, "1.11.0", fixture.DefaultOwnCPU()[fixture.Rate])
	deliver(t, d, evaluate(t, root, fixture.Evening.Add(time.Hour), pairs.EvidenceRule{}, nil))
	if len(in.got) != 2 || in.got[0] != "firing Rate: " || !strings.HasPrefix(in.got[1], "resolved Rate: version 1.11.0 takes ") {
		t.Errorf("sent were %q", in.got)
	}
}
