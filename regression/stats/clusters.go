package stats

import "math"

// Clusters holds sums over clusters c with a size N_c (calls) and a quantity X_c. They are sufficient for a ratio
// estimate and its standard error, and can be added.
type Clusters struct {
	Count      int64
	N, X       float64
	NN, NX, XX float64
}

// Estimate is a value with its standard error SE and the degrees of freedom DF of the standard error.
type Estimate struct {
	Value, SE, DF float64
}

// Mean returns the ratio X/N. Its variance is linearised: with residuals e_c = X_c - m N_c it is
// C/(C-1) * sum(e_c^2) / N^2 (Cochran, Sampling Techniques, 3rd ed., section 6.3). It returns false with fewer than
// two clusters, as the error is then unknown.
func (c Clusters) Mean() (Estimate, bool) {
	if c.Count < 2 || !(c.N > 0) {
		return Estimate{}, false
	}
	m := c.X / c.N
	// The sum of squared residuals; rounding can make it negative.
	squares := math.Max(0, c.XX-2*m*c.NX+m*m*c.NN)
	k := float64(c.Count)
	return Estimate{Value: m, SE: math.Sqrt(k/(k-1)*squares) / c.N, DF: k - 1}, true
}

// Relative returns the standard error as a share of the value, infinite unless the value is positive.
func (e Estimate) Relative() float64 {
	if !(e.Value > 0) {
		return math.Inf(1)
	}
	return e.SE / e.Value
}
