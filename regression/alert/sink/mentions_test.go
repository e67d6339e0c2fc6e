package sink

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// A template of the Alertmanager can put a label into a message for Slack. No name of a method or service
// notifies a channel there, and names with angle brackets stay readable.
func TestAlertmanager_NoMentions(t *testing.T) {
	address, got := server(t)
	alerts := regressed()[:1]
	marks := []string{"<!channel>", "<!here|here>", "<@U123>", "<#C123>", "<http://evil.example|cart>", "@here", "@channel", "@everyone"}
	a := &alerts[0]
	a.Class, a.Method, a.Service, a.Owner, a.Reason = "A<init>", "<init> "+strings.Join(marks, " "), "shop "+marks[0], marks[5], "slower: "+marks[1]
	to := NewAlertmanager("a", endpoint(t, address, ""), time.Hour, func() time.Time { return noon })
	for _, m := range alert.Messages(alert.Firing, alerts) {
		if err := to.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	body := indented(t, (<-got).body)
	for _, mark := range marks {
		if strings.Contains(body, mark) {
			t.Errorf("%s is in the alert:\n%s", mark, body)
		}
	}
	if !strings.Contains(body, `"A<init>"`) {
		t.Errorf("the class was changed:\n%s", body)
	}
}
