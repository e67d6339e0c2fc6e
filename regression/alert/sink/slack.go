package sink

import (
	"context"
	"fmt"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
)

// Slack posts a message as text to an incoming webhook of Slack or of a compatible service (Mattermost, Rocket.Chat,
// Discord with /slack).
type Slack struct {
	name string
	to   *Endpoint
}

// NewSlack returns a sink for Slack.
func NewSlack(name string, to *Endpoint) *Slack { return &Slack{name, to} }

// Name implements Sink.
func (s *Slack) Name() string { return s.name }

// Refreshes implements Sink.
func (s *Slack) Refreshes() bool { return false }

// Send implements Sink.
func (s *Slack) Send(ctx context.Context, m alert.Message) error {
	body, err := output.Line(map[string]any{"text": slackText(&m), "unfurl_links": false, "unfurl_media": false})
	if err != nil {
		return permanent("the message can't be written: %v", err)
	}
	return s.to.post(ctx, m.ID, body)
}

// maxListed is the maximum number of methods in a message. Longer lists are not read in a chat, and Slack cuts long
// texts.
const maxListed = 20

var slackMarks = map[alert.Severity]string{
	alert.Critical: ":red_circle:", alert.Warning: ":large_orange_circle:", alert.Info: ":large_blue_circle:",
}

func slackText(m *alert.Message) string {
	var b strings.Builder
	if m.Status == alert.Resolved {
		b.WriteString(":white_check_mark: *Resolved*: " + slackSubject(m))
	}
	var lines []string
	for i := range m.Alerts {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("and %d more", len(m.Alerts)-i))
			break
		}
		lines = append(lines, slackLine(m.Status, &m.Alerts[i]))
	}
	if m.Status == alert.Resolved {
		return b.String() + "\n" + strings.Join(lines, "\n")
	}
	if len(m.Alerts) > 1 && m.USDPerDay != nil {
		lines = append(lines, fmt.Sprintf("together *+$%s/day*%s", output.Amount(*m.USDPerDay), generic(m.GenericPrice)))
	}
	return strings.Join(lines, "\n")
}

// slackSubject names the deployment, the drifting service or the budget of a message.
func slackSubject(m *alert.Message) string {
	code := output.SlackCode
	service := m.Service
	if m.ServiceNamespace != "" {
		service = m.ServiceNamespace + "/" + m.Service
	}
	if m.Environment != "" {
		service += " (" + m.Environment + ")"
	}
	switch {
	case m.Kind == alert.Budget && service == "":
		return "*Budget*"
	case m.Kind == alert.Budget:
		return "*Budget* of " + code(service)
	case m.Kind == alert.Drift:
		return code(service) + ", more expensive over weeks"
	}
	return fmt.Sprintf("%s from version %s to %s", code(service), code(m.BaseVersion), code(m.HeadVersion))
}

// generic returns the mark for dollars at a public list price.
func generic(price bool) string {
	if price {
		return " (generic price)"
	}
	return ""
}

func slackLine(status alert.Status, a *alert.Alert) string {
	code := output.SlackCode
	if status == alert.Resolved {
		name := code(a.Name())
		switch {
		case a.Kind == alert.Budget:
			name = code(a.Budget)
		case a.Caller != "":
			name += " called by " + code(a.Caller)
		}
		return "• " + name + ": " + code(a.Resolution)
	}
	// Slack gives < and > a meaning; those of names are escaped.
	line := strings.ReplaceAll(a.Line(code), "->", "→") + " " + slackMarks[a.Severity]
	if a.HeadRevision != "" && a.HeadRevision != a.HeadVersion {
		line += " revision " + code(a.HeadRevision)
	}
	if least := a.AtLeast(); least != "" {
		line += ", " + least
	}
	return line
}
