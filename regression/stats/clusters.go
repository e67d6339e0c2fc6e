package stats

import "math"

// Clusters are sums over clusters c of a size N_c (calls) and a quantity X_c:
// all that a ratio estimate and its standard error need. They add up.
type Clusters struct {
	Count      int64
	N, X       float64
	NN, NX, XX float64
}

// Estimate is a value with its standard error. DF are the degrees of freedom
// that the standard error has.
type Estimate struct {
	Value, SE, DF float64
}

// Mean is the ratio X/N. Its variance is linearised: with residuals
// e_c = X_c - m N_c it is C/(C-1) * sum(e_c^2) / N^2 (Cochran, Sampling
// Techniques, 3rd ed., section 6.3). False if there are fewer than two clusters:
// then nothing is known about the error.
func (c Clusters) Mean() (Estimate, bool) {
	if c.Count < 2 || !(c.N > 0) {
		return Estimate{}, false
	}
	m := c.X / c.N
	// The sum of squares of residuals, which rounding may make negative.
	squares := math.Max(0, c.XX-2*m*c.NX+m*m*c.NN)
	k := float64(c.Count)
	return Estimate{Value: m, SE: math.Sqrt(k/(k-1)*squares) / c.N, DF: k - 1}, true
}

// Relative is the standard error as a share of the value, infinite where the
// value is not positive.
func (e Estimate) Relative() float64 {
	if !(e.Value > 0) {
		return math.Inf(1)
	}
	return e.SE / e.Value
}
