package alert

import (
	"fmt"

	"github.com/corehour/corehour/internal/methodspan"
)

// MarkAssumed notes that a share of the measured calls behind the alert is of spans of which
// nothing says how they were sampled, and what helps.
func (a *Alert) MarkAssumed(share float64) {
	if a.AssumedShare = share; share > 0 {
		a.Reason += "; " + a.AtLeast()
	}
}

// AtLeast says how much of what the alert rests on is only known from below, and what helps;
// empty where none is.
func (a *Alert) AtLeast() string {
	if a.AssumedShare == 0 {
		return ""
	}
	return AtLeast(a.AssumedShare)
}

// AtLeast says of a share of measured calls that their number is only known from below.
func AtLeast(share float64) string {
	return fmt.Sprintf("nothing says how the spans of %.2g%% of the calls were sampled, so there are at least as many: %s", 100*share, methodspan.AssumedRemedy)
}
