package drift

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	if commonMethods != 5 || mostMoved != 0.4 || mostDip != 28 || leastFall != 14 || singleShare != 0.1 || confirmations != 9 || currentDays != 7 {
		t.Error("docs/background/statistics.md and docs/guides/drift.md say it in words")
	}
	doctest.Contains(t, "background/statistics.md",
		fmt.Sprintf("end of each UTC day, over %d days", window),
		fmt.Sprintf("the square of the series' precision, at least %g each", leastWeight),
		fmt.Sprintf("Benjamini-Hochberg at %g%% over the methods; Theil and Sen's slope at least %g%% over the window", 100*trendAlpha, 100*leastRise),
		"With five methods or more, their autocorrelations are shrunk towards each other",
		fmt.Sprintf("plus one standard error. With n methods it is %g + %.2g x %d/n standard errors", cautiousMany, cautiousFew-cautiousMany, commonMethods),
		fmt.Sprintf("Services with fewer than %d methods use levels in proportion", fewMethods),
		fmt.Sprintf("%d to %d days at least %d standard errors below", leastDip, mostDip, sureDip),
		fmt.Sprintf("If %g%% of the methods moved, nothing is removed", 100*mostMoved),
		fmt.Sprintf("all places with %d days on either side", leastSide),
		fmt.Sprintf("Benjamini-Hochberg at %g%%; at least %g%%", 100*stepAlpha, 100*leastStep),
	)
	doctest.Contains(t, "guides/drift.md",
		fmt.Sprintf("a **rise** over %d days (%g%% at least) and a **step** (%g%% at least)", window, 100*leastRise, 100*leastStep),
		fmt.Sprintf("needs %d of the %d days before each of nine evaluations, and on each of these days a caller with %d measured calls: %d days at least", LeastDays, window, WantRecords, WantDays),
		fmt.Sprintf("must keep rows for %d days or more", window+confirmations-1),
		"removed with fewer than five methods",
		fmt.Sprintf("Fewer than %d of the %d days have less power", fullDays, window),
		fmt.Sprintf("A service of fewer than %d methods", fewMethods), fmt.Sprintf("%d records on most days", FewRecords),
		fmt.Sprintf("more than %d days after its date is another drift", newDriftDays),
	)
}
