package evidence

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/test/doctest"
)

func TestDocumentedFigures(t *testing.T) {
	o := Defaults()
	if apartInflation != 2 || o.Evaluations != 2 || leastVoters != 5 || len(scales) != 3 || mostMoved < 1.0/3 || mostMoved > 0.4 {
		t.Error("docs/background/statistics.md says these in words")
	}
	doctest.Contains(t, "background/statistics.md",
		fmt.Sprintf("with variances %g times what the data show", o.Inflation),
		fmt.Sprintf("became at most %g%% more expensive", 100*o.Margin),
		fmt.Sprintf("(%d time buckets are needed to know it)", leastApart),
		fmt.Sprintf("%g%% a method between days, %g%% between hours. Variances are doubled", 100*dayDiffers, 100*hourDiffers),
		fmt.Sprintf("by %g%% and two standard errors, its level has stayed for %g minutes and two time buckets", 100*settledBy, leastSettled.Minutes()),
		fmt.Sprintf("From %g minutes on an instance counts as warm", mostWarmUp.Minutes()),
		fmt.Sprintf("a decline of %g%%, an instance counts as warming up for its first %g minutes", 100*declineThatMatters, waitForRecords.Minutes()),
		fmt.Sprintf("known callers for %g%% of the cost", 100*callersKnown),
		fmt.Sprintf("own cost has a standard error above %g%%", 100*ownKnown),
		fmt.Sprintf("it, and %d times it", Far),
		fmt.Sprintf("The weights are %.2g, %g and %g.", 1-meanShare-tailShare, meanShare, tailShare),
		fmt.Sprintf("a weighted median over methods of five with %d records at least", leastRecords),
		fmt.Sprintf("a spread of %g%% counts as %d degrees of freedom", 100*betweenPrior, betweenPriorDF),
		fmt.Sprintf("(%g%% counts as %d degrees of freedom)", 100*hostsPrior, hostsPriorDF),
		fmt.Sprintf("more than hosts differ by (%g%%)", 100*beyondHosts),
		fmt.Sprintf("more than %g%% more expensive beyond the error of measuring", 100*clearly),
		fmt.Sprintf("The sum is multiplied by %g.", o.Inflation),
		fmt.Sprintf("the square of the precision, at least %g each", leastWeight),
		fmt.Sprintf("d = x - ln(%g)", 1+o.Margin),
		fmt.Sprintf("for each t of %g%%, %g%% and %g%%:", 100*scales[0], 100*scales[1], 100*scales[2]),
		fmt.Sprintf("e-BH at %g%% over all methods of the deployment and the whole service", 100*o.Alpha),
		fmt.Sprintf("the k-th is at least m/(%g k)", o.Alpha),
		fmt.Sprintf("%g records on both sides, a change of at least %g%%, two evaluations in a row, and the last time bucket still up, if it has %d records", o.Records, 100*o.LeastChange, lastRecords),
		"to a fifth of what moved, and that is known",
		fmt.Sprintf("raised takes %d times the evidence", LastEvaluationFactor),
		fmt.Sprintf("from %g%%. Calls are weighed", 100*leastCallsChange),
		fmt.Sprintf("where its own cost is not known, %g%% of it", 100*o.Explained),
	)
	doctest.Contains(t, "guides/regression.md",
		fmt.Sprintf("an estimate of at least `--threshold` (%g%%), at least `--min-records` (%g) on both sides", 100*o.LeastChange, o.Records),
	)
}
