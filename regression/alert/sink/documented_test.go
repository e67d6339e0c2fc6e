package sink

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	doctest.Contains(t, "guides/alerts.md",
		fmt.Sprintf("at most %d in each message. Slack lists %d of them", alert.MaxInMessage, maxListed),
		fmt.Sprintf("The first wait is %g s. Each wait is twice the one before, up to %g s, and drawn from its upper half", firstWait.Seconds(), mostWait.Seconds()),
		fmt.Sprintf("An attempt may take %g s", attemptTimeout.Seconds()),
		"`CorehourRegression`, `CorehourDrift` or `CorehourBudget`",
	)
}
