package evidence

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	o := Defaults()
	if apartInflation != 2 || o.Evaluations != 2 || leastVoters != 5 || len(scales) != 3 || mostMoved < 1.0/3 || mostMoved > 0.4 {
		t.Error("docs/background/statistics.md says these in words")
	}
	doctest.Contains(t, "background/statistics.md",
		fmt.Sprintf("(%d time buckets are needed to estimate them)", leastApart),
		fmt.Sprintf("%g%% a method between days, %g%% between hours; - variances are doubled", 100*dayDiffers, 100*hourDiffers),
		fmt.Sprintf("by %g%% and two standard errors; - has lasted for %g minutes and two time buckets", 100*settledBy, leastSettled.Minutes()),
		fmt.Sprintf("From %g minutes on a process counts as warm", mostWarmUp.Minutes()),
		fmt.Sprintf("a decline of %g%%, the first %g minutes count as warm-up", 100*declineThatMatters, waitForRecords.Minutes()),
		fmt.Sprintf("known callers for %g%% of the service's cost", 100*callersKnown),
		fmt.Sprintf("own cost of the base has a standard error above %g%%", 100*ownKnown),
		fmt.Sprintf("calls above 1/4, 1 and %d times the cap", Far),
		fmt.Sprintf("mean logarithm | %.2g |", 1-meanShare-tailShare), fmt.Sprintf("mean of all calls | %g |", meanShare), fmt.Sprintf("share of all calls | %g |", tailShare),
		fmt.Sprintf("a weighted median over at least five methods with %d records each", leastRecords),
		fmt.Sprintf("a spread of %g%% counts as %d degrees of freedom", 100*betweenPrior, betweenPriorDF),
		fmt.Sprintf("spread of %g%% counts as %d degrees of freedom)", 100*hostsPrior, hostsPriorDF),
		fmt.Sprintf("larger than %g%% of the differences between hosts", 100*beyondHosts),
		fmt.Sprintf("The sum of both variances is multiplied by %g.", o.Inflation),
		fmt.Sprintf("the square of their precision, at least %g each", leastWeight),
		fmt.Sprintf("d = x - ln(%g)", 1+o.Margin),
		fmt.Sprintf("for t = %g%%, %g%% and %g%%:", 100*scales[0], 100*scales[1], 100*scales[2]),
		fmt.Sprintf("e-BH at %g%% (Wang and Ramdas 2022) covers the whole service and all methods with enough records", 100*o.Alpha),
		fmt.Sprintf("the k-th is at least m / (%g k)", o.Alpha),
		fmt.Sprintf("%g records on both sides and a change of at least %g%%. Two evaluations in a row must agree, the second with more data. The last time bucket must be still up if it has %d records", o.Records, 100*o.LeastChange, lastRecords),
		"differ by a fifth of the moved cost",
		fmt.Sprintf("only the last one found needs %d times the evidence", LastEvaluationFactor),
		fmt.Sprintf("with %g to 16,384 times the records, and with %g to %g processes", moreRecords[0], moreProcesses[0], moreProcesses[len(moreProcesses)-1]),
		fmt.Sprintf("less %g (records) or %g (processes) standard", luckOfRecords, luck),
		fmt.Sprintf("as a family of their own, from %g%%.", 100*leastCallsChange),
		fmt.Sprintf("If its own cost is unknown, they must cause %g%% of it", 100*o.Explained),
	)
	doctest.Contains(t, "guides/regression.md",
		fmt.Sprintf("more than %g%% more expensive beyond the error of measuring", 100*undecidedFrom),
		fmt.Sprintf("became at most %g%% more expensive", 100*o.Margin),
		fmt.Sprintf("an estimate of at least `--threshold` (%g%%), at least `--min-records` (%g) on both sides", 100*o.LeastChange, o.Records),
	)
}
