package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// leastWeight is that of the statistic which is known worse. It keeps an eye on what
// the other does not show: the level hardly moves where only the most expensive calls do.
const leastWeight = 0.1

// meanEvidence is the mean of the e-values of both statistics, each with a weight. The
// weights follow from the variances alone, whatever the estimates are, so the mean is
// an e-value; they go with the square of the precision, as evidence grows
// exponentially with precision.
func meanEvidence(logs, variances [statistics]float64) float64 {
	share := 0.5 // of the level
	if a, b := variances[cost], variances[level]; a > 0 && b > 0 {
		share = min(max(a*a/(a*a+b*b), leastWeight), 1-leastWeight)
	}
	return stats.LogMean(math.Log(2*(1-share))+logs[cost], math.Log(2*share)+logs[level])
}
