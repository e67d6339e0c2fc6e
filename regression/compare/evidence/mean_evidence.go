package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// leastWeight is the minimum weight of the less precise statistic. It keeps changes visible that the other statistic
// misses: the level hardly changes if only the most expensive calls do.
const leastWeight = 0.1

// meanEvidence returns the logarithm of the weighted mean of the e-values of cost and level. The weights depend on
// the variances only, not on the estimates, so the mean is an e-value. They are proportional to the square of the
// precision, because evidence grows exponentially with precision.
func meanEvidence(logs, variances [statistics]float64) float64 {
	share := 0.5 // weight of the level
	if a, b := variances[cost], variances[level]; a > 0 && b > 0 {
		share = min(max(a*a/(a*a+b*b), leastWeight), 1-leastWeight)
	}
	return stats.LogMean(math.Log(2*(1-share))+logs[cost], math.Log(2*share)+logs[level])
}
