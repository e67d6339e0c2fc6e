package delivery

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/output"
)

// Muted says until when an alert is silenced, and why.
func (s *Silenced) Muted() string {
	return fmt.Sprintf("until %s because %s", s.Until.UTC().Format(time.RFC3339), s.Reason)
}

// NotRaised lists the alerts that are accepted or muted, and why.
func (s *Sorted) NotRaised() (lines []string) {
	for i := range s.Accepted {
		a := &s.Accepted[i]
		lines = append(lines, fmt.Sprintf("%s of %s, %s: %s", a.About(), a.Service, output.Change(a.ChangePercent), a.Accepted.String()))
	}
	for i := range s.Silenced {
		a := &s.Silenced[i]
		lines = append(lines, fmt.Sprintf("%s of %s, %s: muted %s", a.About(), a.Service, output.Change(a.ChangePercent), a.Muted()))
	}
	return lines
}

// SayAlerts prints the alerts that are raised.
func (s *Sorted) SayAlerts(d *output.Document) {
	for i := range s.Alerts {
		d.Say(s.Alerts[i].Lines()...)
	}
}
