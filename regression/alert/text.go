package alert

import (
	"fmt"
	"time"
)

// Lines returns the alert as lines of text.
func (a *Alert) Lines() []string {
	about := "id " + a.ID
	if a.Owner != "" {
		about += ", owner " + a.Owner
	}
	if a.KnowableSince != nil {
		about += fmt.Sprintf(", knowable since %s, raised %s", a.KnowableSince.UTC().Format(time.RFC3339), a.RaisedAt.UTC().Format(time.RFC3339))
	}
	if a.Kind == Budget {
		return []string{fmt.Sprintf("%s: %s", a.Severity, a.Reason), about}
	}
	return []string{fmt.Sprintf("%s: %s of %s: %s", a.Severity, a.Name(), a.Service, a.Reason), about}
}
