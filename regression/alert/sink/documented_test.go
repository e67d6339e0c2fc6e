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
		fmt.Sprintf("waits of %g to %g s", firstWait.Seconds(), mostWait.Seconds()),
		fmt.Sprintf("An attempt may take %g s", attemptTimeout.Seconds()),
		"`CorehourRegression`, `CorehourDrift` or `CorehourBudget`",
	)
}
