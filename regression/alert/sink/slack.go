package sink

import (
	"context"
	"fmt"
	"strings"
	"time"

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
	code := output.SlackCode
	if m.Status == alert.Resolved {
		b.WriteString(":white_check_mark: *Resolved*: ")
	}
	service := m.Service
	if m.ServiceNamespace != "" {
		service = m.ServiceNamespace + "/" + m.Service
	}
	if m.Environment != "" {
		service += " (" + m.Environment + ")"
	}
	switch m.Kind {
	case alert.Budget:
		b.WriteString("*Budget*")
		if service != "" {
			b.WriteString(" of " + code(service))
		}
	case alert.Drift:
		b.WriteString(code(service) + ", more expensive over weeks")
	default:
		fmt.Fprintf(&b, "%s from version %s to %s", code(service), versionText(m.BaseVersion, m.BaseRevision), versionText(m.HeadVersion, m.HeadRevision))
	}
	if m.Status == alert.Firing {
		fmt.Fprintf(&b, ": %d raised", len(m.Alerts))
		if m.USDPerDay != nil {
			fmt.Fprintf(&b, ", *$%s a day*%s", output.Amount(*m.USDPerDay), generic(m.GenericPrice))
		}
	}
	for i := range m.Alerts {
		if i == maxListed {
			fmt.Fprintf(&b, "\nand %d more", len(m.Alerts)-i)
			break
		}
		b.WriteString("\n" + slackLine(m.Status, &m.Alerts[i]))
	}
	return b.String()
}

// generic returns the mark for dollars at a public list price.
func generic(price bool) string {
	if price {
		return " (generic price)"
	}
	return ""
}

func versionText(version, revision string) string {
	if revision == "" || revision == version {
		return output.SlackCode(version)
	}
	return output.SlackCode(version) + " (" + output.SlackCode(revision) + ")"
}

func slackLine(status alert.Status, a *alert.Alert) string {
	code := output.SlackCode
	name := code(a.Name())
	switch {
	case a.Kind == alert.Budget:
		name = code(a.Budget)
	case a.Caller != "":
		name += " called by " + code(a.Caller)
	}
	if status == alert.Resolved {
		return "• " + name + ": " + code(a.Resolution)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s ", slackMarks[a.Severity], a.Severity, name)
	if a.Kind != alert.Budget {
		fmt.Fprintf(&b, "%+.1f%% (95%% interval %+.1f%% to %+.1f%%), ", a.ChangePercent, a.Interval[0], a.Interval[1])
	}
	b.WriteString(slackLevels(a))
	if a.Kind == alert.Drift {
		b.WriteString(", since " + a.FirstSeen.UTC().Format(time.DateOnly))
		if a.BaseVersion != a.HeadVersion && a.BaseVersion != "" {
			fmt.Fprintf(&b, " (version %s, then %s)", versionText(a.BaseVersion, a.BaseRevision), versionText(a.HeadVersion, a.HeadRevision))
		}
	}
	if a.USDPerDay != nil {
		fmt.Fprintf(&b, ", $%s a day more%s", output.Amount(*a.USDPerDay), generic(a.GenericPrice))
	}
	if least := a.AtLeast(); least != "" {
		b.WriteString(", " + least)
	}
	if a.Owner != "" {
		b.WriteString(", owner " + code(a.Owner))
	}
	return b.String() + ", id " + code(a.ID)
}

// slackLevels returns the levels before and after the change.
func slackLevels(a *alert.Alert) string {
	l := a.Levels()
	switch {
	case a.Kind == alert.Budget:
		return fmt.Sprintf("%s, planned are %s", l.Level(), l.Before)
	case l.Before == "": // the change is in the text already
		return strings.TrimPrefix(l.Of, "of the ")
	}
	return fmt.Sprintf("%s instead of %s", l.Level(), l.Before)
}
