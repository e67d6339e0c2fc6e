package state

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	doctest.Contains(t, "guides/alerts.md",
		fmt.Sprintf("| %d,%03d open alerts |", MaxOpen/1000, MaxOpen%1000),
		fmt.Sprintf("| %d,%03d accepted slowdowns |", MaxAccepted/1000, MaxAccepted%1000),
		fmt.Sprintf("open for %g days at most", forgetAfter.Hours()/24),
	)
}
