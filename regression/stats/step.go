package stats

import "math"

// Step is the place where a series most looks as if its level rose.
type Step struct {
	At     int     // the first value of the new level
	Size   float64 // mean after less mean before
	T      float64
	P      float64 // one-sided, for the largest of all places
	LongSD float64 // square root of the long-run variance
}

// StepScan looks for a rise of the level: the largest t of all places that leave
// least values on either side. The variance is the long-run one, that of an
// autoregression of first order in the residuals of the step itself. The chance of
// such a maximum under no step is that of a standardised Brownian bridge (Miller
// and Siegmund 1982), which for series of days is on the safe side.
func StepScan(y []float64, least int) (Step, bool) {
	n := len(y)
	if least < 2 || n < 2*least+2 {
		return Step{}, false
	}
	total := 0.0
	for _, v := range y {
		total += v
	}
	best, top, sum := Step{}, math.Inf(-1), 0.0
	for k := 1; k <= n-least; k++ {
		sum += y[k-1]
		if k < least {
			continue
		}
		a, b := float64(k), float64(n-k)
		size := (total-sum)/b - sum/a
		if t := size * math.Sqrt(a*b/float64(n)); t > top {
			top, best = t, Step{At: k, Size: size}
		}
	}
	residuals := make([]float64, n)
	before, after := mean(y[:best.At]), mean(y[best.At:])
	squares := 0.0
	for i, v := range y {
		residuals[i] = v - before
		if i >= best.At {
			residuals[i] = v - after
		}
		squares += residuals[i] * residuals[i]
	}
	// Two means were taken off, which makes autocorrelation come out too small.
	rho := Autocorrelation(residuals)
	rho = math.Min(0.9, math.Max(0, rho+(2+4*rho)/float64(n)))
	variance := squares / float64(n-2) * varianceRatio(rho, n)
	if !(variance > 0) {
		return Step{}, false
	}
	best.LongSD = math.Sqrt(variance)
	best.T = top / best.LongSD
	edge := float64(least) / float64(n)
	best.P = bridgeTail(best.T, edge)
	return best, true
}

// bridgeTail is the chance that a standardised Brownian bridge exceeds b anywhere
// between edge and 1-edge.
func bridgeTail(b, edge float64) float64 {
	if b < 1.5 {
		return 1
	}
	density := math.Exp(-b*b/2) / math.Sqrt(2*math.Pi)
	odds := 2 * math.Log((1-edge)/edge)
	return math.Min(1, density*(2/b+(b-1/b)*odds/2))
}

func mean(y []float64) float64 {
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	return sum / float64(len(y))
}
