package stats

import "math"

// normalFrom is the number of degrees of freedom from which the normal distribution replaces Student's t.
const normalFrom = 200

// T is Student's t distribution with a number of degrees of freedom.
type T struct {
	df, logNorm float64
}

// NewT returns the distribution for df degrees of freedom; df above 200 gives the
// normal distribution.
func NewT(df float64) T {
	if !(df < normalFrom) {
		return T{df: math.Inf(1), logNorm: -0.5 * math.Log(2*math.Pi)}
	}
	a, _ := math.Lgamma((df + 1) / 2)
	b, _ := math.Lgamma(df / 2)
	return T{df: df, logNorm: a - b - 0.5*math.Log(df*math.Pi)}
}

// LogDensity returns the logarithm of the density at z.
func (t T) LogDensity(z float64) float64 {
	if math.IsInf(t.df, 1) {
		return t.logNorm - z*z/2
	}
	return t.logNorm - (t.df+1)/2*math.Log1p(z*z/t.df)
}

// studentScales are the scales of effects for an e-value with few degrees of freedom. The tails of Student's t are
// heavy, so evidence for a large effect needs a scale of that size.
var studentScales = []float64{0.02, 0.06, 0.2, 0.8, 2.5}

// halfNormal are the quantiles of the half-normal distribution at (i + 1/2) / 16.
var halfNormal = func() (q [16]float64) {
	for i := range q {
		q[i] = math.Sqrt2 * math.Erfinv((float64(i)+0.5)/float64(len(q)))
	}
	return q
}()

// Error is the error of an estimate: its variance and the degrees of freedom of that variance, if it is itself an
// estimate.
type Error struct{ Variance, DF float64 }

// LogEStudent is LogE for an error that follows Student's t. It is the likelihood ratio of a half-normal mixture of
// effects above the margin to the most likely value up to the margin. So its expectation is at most 1 if the true
// value is at most the margin.
func LogEStudent(estimate, variance, df, margin float64, scales []float64) float64 {
	if !(df < normalFrom) {
		return LogE(estimate, variance, margin, scales)
	}
	if !(variance > 0) || math.IsInf(variance, 1) || math.IsNaN(estimate) {
		return 0
	}
	effect, null := Error{variance, df}.logDensities(NewT(df), estimate, margin, scales)
	return effect - null
}

// logDensities returns the log densities of an estimate under the mixture of effects above the margin, and under the
// most likely value up to the margin.
func (e Error) logDensities(t T, estimate, margin float64, scales []float64) (effect, null float64) {
	sd := math.Sqrt(e.Variance)
	d := (estimate - margin) / sd
	null = t.LogDensity(math.Max(0, d)) - math.Log(sd)
	if math.IsInf(t.df, 1) {
		return LogE(estimate, e.Variance, margin, scales) + t.LogDensity(d) - math.Log(sd), null
	}
	sum := 0.0
	for _, scale := range studentScales {
		for _, q := range halfNormal {
			sum += math.Exp(t.LogDensity(d - q*scale/sd))
		}
	}
	return math.Log(sum/float64(len(studentScales)*len(halfNormal))) - math.Log(sd), null
}

// Satterthwaite returns the degrees of freedom of a sum of independent variance estimates, each with its own degrees
// of freedom.
func Satterthwaite(variances, df []float64) float64 {
	sum, squares := 0.0, 0.0
	for i, v := range variances {
		sum += v
		if v > 0 && !math.IsInf(df[i], 1) {
			squares += v * v / df[i]
		}
	}
	if !(squares > 0) {
		return math.Inf(1)
	}
	return sum * sum / squares
}
