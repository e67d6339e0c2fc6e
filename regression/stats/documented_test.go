package stats

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	doctest.Contains(t, "background/statistics.md",
		fmt.Sprintf("(sum x)^2 / sum(x^2 / n) must be at least %d", LeastRecords),
		fmt.Sprintf("at most %g of a line", mostOpen),
		fmt.Sprintf("fewer than %d of them", gapRecords),
		fmt.Sprintf("at least %d by a standard error", leastIndex),
		fmt.Sprintf("by %g standard errors", heavyErrors),
		fmt.Sprintf("skewness of the logarithms is above %g", heavySkewness),
		fmt.Sprintf("Segments have at least %d days and p of at most %g", leastSegment, dateAlpha),
		"`"+string(LowerBound)+"`", "`"+string(LowerBoundCPU)+"`", "`"+string(FewRecords)+"`",
	)
	doctest.Contains(t, "background/cost-model.md", fmt.Sprintf("%d measured calls", LeastRecords))
}
