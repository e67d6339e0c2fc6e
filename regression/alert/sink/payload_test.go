package sink

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/test/golden"
)

// indented formats a payload and checks that it is JSON.
func indented(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(body), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return b.String()
}

// sinks returns a sink of each kind for one address.
func sinks(e *Endpoint) map[string]Sink {
	return map[string]Sink{
		"webhook":      NewWebhook("webhook", e),
		"slack":        NewSlack("slack", e),
		"alertmanager": NewAlertmanager("alertmanager", e, time.Hour, func() time.Time { return noon }),
	}
}

// assumed returns alerts of a service with a large share of calls without a known sampling probability.
func assumed() []alert.Alert {
	a := drifting()[:1]
	a[0].USDPerDay = nil // not computed for such calls
	a[0].MarkAssumed(0.83)
	return a
}

func TestPayloads(t *testing.T) {
	address, got := server(t)
	resolved := regressed()[:1]
	resolved[0].Resolution = "it is back to 291us"
	over := drifting()
	for i := range over {
		over[i].Resolution = "the look of 2026-04-27 does not confirm it any more: a call takes 291us now, and took 290us before"
	}
	for kind, s := range sinks(endpoint(t, address+"/hooks/secret-token", "Authorization: Bearer very-secret\nX-Team: a")) {
		for name, messages := range map[string][]alert.Message{
			"firing":   alert.Messages(alert.Firing, regressed()),
			"resolved": alert.Messages(alert.Resolved, resolved),
			"others":   alert.Messages(alert.Firing, others()),
			"drift":    alert.Messages(alert.Firing, drifting()),
			"over":     alert.Messages(alert.Resolved, over),
			"budget":   alert.Messages(alert.Firing, []alert.Alert{overBudget()}),
			"assumed":  alert.Messages(alert.Firing, assumed()),
		} {
			if len(messages) != 1 {
				t.Fatalf("%d messages for one deployment", len(messages))
			}
			if err := s.Send(t.Context(), messages[0]); err != nil {
				t.Fatal(kind, err)
			}
			r := <-got
			golden.Check(t, kind+"_"+name+".json", indented(t, r.body))
			if r.path != "/hooks/secret-token" || r.header.Get("Authorization") != "Bearer very-secret" || r.header.Get("X-Team") != "a" ||
				r.header.Get("Content-Type") != "application/json" || r.header.Get("Idempotency-Key") != messages[0].ID {
				t.Errorf("%s: %+v", kind, r)
			}
		}
	}
}

// Hostile names are escaped in every payload.
func TestPayloads_HostileNames(t *testing.T) {
	address, got := server(t)
	for kind, s := range sinks(endpoint(t, address, "")) {
		for _, status := range []alert.Status{alert.Firing, alert.Resolved} {
			if err := s.Send(t.Context(), alert.Messages(status, []alert.Alert{hostile()})[0]); err != nil {
				t.Fatal(kind, err)
			}
			body := (<-got).body
			for _, r := range body {
				if r != '\n' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
					t.Errorf("%s: %U in %q", kind, r, body)
				}
			}
			indented(t, body)
			if kind != "slack" {
				continue
			}
			var message struct{ Text string }
			if err := json.Unmarshal([]byte(body), &message); err != nil {
				t.Fatal(err)
			}
			// Hostile text appears only in code spans, never outside of backticks.
			for i, part := range strings.Split(message.Text, "`") {
				if i%2 == 0 && strings.ContainsAny(part, "<>@&") {
					t.Errorf("outside of code: %q in %q", part, message.Text)
				}
				if strings.ContainsAny(part, "<>") || strings.Contains(part, "& ") {
					t.Errorf("not escaped: %q", part)
				}
			}
			if strings.Count(message.Text, "`")%2 != 0 {
				t.Errorf("a name closes its code: %q", message.Text)
			}
		}
	}
}

// A deployment that made all methods more expensive still gives a short message.
func TestPayloads_ManyAlerts(t *testing.T) {
	var many []alert.Alert
	for i := range 250 {
		a := regressed()[0]
		a.ID, a.USDPerDay = strings.Repeat("x", 1+i), usd(float64(i))
		many = append(many, a)
	}
	messages := alert.Messages(alert.Firing, many)
	if len(messages) != 3 || len(messages[0].Alerts) != alert.MaxInMessage || *messages[0].Alerts[0].USDPerDay != 249 {
		t.Fatalf("%d messages", len(messages))
	}
	text := slackText(&messages[0])
	if strings.Count(text, "\n") != maxListed+1 || !strings.Contains(text, "\nand 80 more\ntogether *+$") {
		t.Error(text)
	}
	if messages[0].ID == messages[1].ID || messages[0].ID != alert.Messages(alert.Firing, many)[0].ID {
		t.Error("ids of messages")
	}
}

// The Alertmanager gets the end of the severities that it was sent before, and of no others.
func TestAlertmanager_EndsSeveritiesSentBefore(t *testing.T) {
	address, got := server(t)
	s := NewAlertmanager("alertmanager", endpoint(t, address, ""), time.Hour, func() time.Time { return noon })
	for _, earlier := range [][]alert.Severity{nil, {alert.Info}} {
		a := regressed()[0]
		a.Severity, a.Earlier = alert.Critical, earlier
		if err := s.Send(t.Context(), alert.Messages(alert.Firing, []alert.Alert{a})[0]); err != nil {
			t.Fatal(err)
		}
		body := (<-got).body
		if ended := strings.Count(body, `"severity":"`) - 1; ended != len(earlier) || strings.Contains(body, `"severity":"info"`) != (len(earlier) > 0) {
			t.Errorf("sent before with %q: %d alerts end: %s", earlier, ended, body)
		}
	}
}
