package alert

import (
	"fmt"

	"github.com/corehour/corehour/internal/methodspan"
)

// MarkAssumed sets the share of the measured calls without a known sampling probability and adds a note with the
// remedy.
func (a *Alert) MarkAssumed(share float64) {
	if a.AssumedShare = share; share > 0 {
		a.Reason += "; " + a.AtLeast()
	}
}

// AtLeast returns a note if calls behind the alert are a lower bound, with the remedy; empty if none are.
func (a *Alert) AtLeast() string {
	if a.AssumedShare == 0 {
		return ""
	}
	return AtLeast(a.AssumedShare)
}

// AtLeast returns the note that the number of calls is a lower bound for this share of the measured calls.
func AtLeast(share float64) string {
	return fmt.Sprintf("nothing says how the spans of %.2g%% of the calls were sampled, so there are at least as many: %s", 100*share, methodspan.AssumedRemedy)
}
