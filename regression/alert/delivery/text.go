package delivery

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/output"
)

// Muted returns the end and the reason of the silence as text.
func (s *SilencedAlert) Muted() string {
	return fmt.Sprintf("until %s because %s", s.Until.UTC().Format(time.RFC3339), s.Reason)
}

// NotRaised returns a line for each accepted or muted alert, with the reason.
func (s *Sorted) NotRaised() (lines []string) {
	for i := range s.Accepted {
		a := &s.Accepted[i]
		lines = append(lines, fmt.Sprintf("%s of %s, %s: %s", a.About(), a.Service, output.Change(a.ChangePercent), a.Acceptance.String()))
	}
	for i := range s.Silenced {
		a := &s.Silenced[i]
		lines = append(lines, fmt.Sprintf("%s of %s, %s: muted %s", a.About(), a.Service, output.Change(a.ChangePercent), a.Muted()))
	}
	return lines
}

// SayAlerts adds the raised alerts to a document, with their evidence if verbose.
func (s *Sorted) SayAlerts(d *output.Document, verbose bool) {
	for i := range s.Alerts {
		d.Say(s.Alerts[i].Lines(verbose)...)
	}
}
