package stats

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	doctest.Contains(t, "background/statistics.md",
		fmt.Sprintf("printed from max(%d, %g G^2) records", leastSample, 1/(mostSkew*mostSkew)),
		fmt.Sprintf("sum(N^2 k2 / n)^1.5 must be at most %g", mostSkew),
		fmt.Sprintf("Segments have at least %d days and p of at most %g", leastSegment, dateAlpha),
		"`"+string(LowerBound)+"`", "`"+string(LowerBoundCPU)+"`",
	)
	doctest.Contains(t, "background/cost-model.md", fmt.Sprintf("measured calls: %d, and %g times the square of the skewness", leastSample, 1/(mostSkew*mostSkew)))
}
