package stats

import "math"

// Step is the position in a series with the most significant rise of the level.
type Step struct {
	At      int     // index of the first value of the new level
	Size    float64 // mean after minus mean before
	T       float64
	P       float64 // one-sided, for the maximum over all positions
	LongSD  float64 // square root of the long-run variance
	Rho     float64 // autocorrelation at lag 1 of the residuals
	DF      float64 // degrees of freedom of LongSD, reduced for autocorrelation
	Squares float64 // sum of the squared residuals

	root, edge float64
	n          int
}

// StepScan tests for a rise of the level. It takes the largest t over all positions with at least least values on
// either side. The variance is the long-run variance of a first-order autoregression, estimated from the residuals
// of the step. The p-value of the maximum is that of a standardised Brownian bridge (Miller and Siegmund 1982),
// reduced because a series of days has fewer positions.
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
		if root := math.Sqrt(a * b / float64(n)); size*root > top {
			top, best = size*root, Step{At: k, Size: size, root: root}
		}
	}
	residuals := make([]float64, n)
	before, after := mean(y[:best.At]), mean(y[best.At:])
	for i, v := range y {
		residuals[i] = v - before
		if i >= best.At {
			residuals[i] = v - after
		}
		best.Squares += residuals[i] * residuals[i]
	}
	best.n, best.edge = n, float64(least)/float64(n)
	best.Rho = Autocorrelation(residuals)
	best = best.With(Unbiased(best.Rho, n))
	return best, best.LongSD > 0
}

// With returns the test with a better estimate of the autocorrelation; a negative one counts as 0. With autocorrelated
// values the two means use more than two degrees of freedom, and the variance has fewer than the number of values.
func (s Step) With(rho float64) Step {
	rho = math.Min(mostRho, math.Max(0, rho))
	n := float64(s.n)
	s.LongSD = math.Sqrt(LongRun(s.Squares, rho, s.n))
	s.DF = math.Max(leastDF, n*(1-rho*rho)/(1+rho*rho)-2)
	s.T, s.P = 0, 1
	if s.LongSD > 0 {
		s.T = s.Size * s.root / s.LongSD
		s.P = ofDays(rho) * bridgeTail(normalOf(s.T, s.DF), s.edge)
	}
	return s
}

// ofDays returns the ratio of the p-value in a series of days to that of the Brownian bridge. In simulations of 100,000
// series of 56 values, at p = 0.01, it is 0.6, 0.5, 0.35, 0.16 and 0.07 for rho = 0, 0.3, 0.5, 0.7 and 0.8. It is
// lower still at smaller p and in shorter series.
func ofDays(rho float64) float64 {
	free := 1 - rho*rho
	return 0.65 * free * free
}

// LongRun returns the long-run variance of n values. squares is the sum of their squared residuals around two means.
func LongRun(squares, rho float64, n int) float64 {
	ratio := varianceRatio(math.Min(mostRho, math.Max(0, rho)), n)
	return squares / math.Max(float64(n)-2*ratio, float64(n)/3) * ratio
}

// SE returns the standard error of Size at a given position.
func (s Step) SE() float64 { return s.LongSD / s.root }

const (
	mostRho = 0.95
	leastDF = 3
)

// Unbiased corrects an estimated autocorrelation for its downward bias after a level and a slope or a step were
// removed (Marriott and Pope 1954).
func Unbiased(rho float64, n int) float64 { return rho + (2+4*rho)/float64(n) }

// normalOf returns the normal deviate with the same tail probability as t with df degrees of freedom (Wallace 1959).
func normalOf(t, df float64) float64 {
	z := (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t*t/df))
	return math.Copysign(z, t)
}

// bridgeTail returns the probability that a standardised Brownian bridge exceeds b anywhere between edge and 1-edge.
func bridgeTail(b, edge float64) float64 {
	if b < 1.5 {
		return 1
	}
	density := math.Exp(-b*b/2) / math.Sqrt(2*math.Pi)
	odds := 2 * math.Log((1-edge)/edge)
	return math.Min(1, density*(2/b+(b-1/b)*odds/2))
}

// BridgeQuantile returns the value that a standardised Brownian bridge exceeds with probability p anywhere between
// edge and 1-edge.
func BridgeQuantile(p, edge float64) float64 {
	low, high := 1.5, 40.0
	for range 50 {
		if middle := (low + high) / 2; bridgeTail(middle, edge) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func mean(y []float64) float64 {
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	return sum / float64(len(y))
}
