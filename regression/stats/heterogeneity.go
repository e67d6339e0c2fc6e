package stats

import "math"

// Heterogeneity says how much more the estimates of a group differ than their
// own errors explain: Cochran's Q, its degrees of freedom, and the factor by
// which variance between them raises it. Groups that share that variance add up.
type Heterogeneity struct{ Q, DF, C float64 }

// HeterogeneityOf compares estimates with known variances; those without a
// positive finite variance are left out.
func HeterogeneityOf(estimates, variances []float64) Heterogeneity {
	var w, ww, wy float64
	k := 0
	for i, v := range variances {
		if !(v > 0) || math.IsInf(v, 1) {
			continue
		}
		k++
		w += 1 / v
		ww += 1 / (v * v)
		wy += estimates[i] / v
	}
	if k < 2 {
		return Heterogeneity{}
	}
	h := Heterogeneity{DF: float64(k - 1), C: w - ww/w}
	for i, v := range variances {
		if v > 0 && !math.IsInf(v, 1) {
			d := estimates[i] - wy/w
			h.Q += d * d / v
		}
	}
	return h
}

// Add is the heterogeneity of two groups, each around a mean of its own.
func (h Heterogeneity) Add(o Heterogeneity) Heterogeneity {
	return Heterogeneity{h.Q + o.Q, h.DF + o.DF, h.C + o.C}
}

// Raw is DerSimonian and Laird's estimate of the variance between (1986), not
// clipped at zero: only so do estimates average to the truth.
func (h Heterogeneity) Raw() float64 {
	if !(h.C > 0) {
		return 0
	}
	return (h.Q - h.DF) / h.C
}

// Between is that estimate, clipped.
func (h Heterogeneity) Between() float64 { return math.Max(0, h.Raw()) }

// noise is the mean variance of the estimates' own errors.
func (h Heterogeneity) noise() float64 { return h.DF / h.C }

// Pool estimates the variance between that many groups have in common: the mean of
// their raw estimates, each weighted by what it can tell. The prior counts as
// priorDF estimates without own error.
func Pool(groups []Heterogeneity, prior, priorDF float64) float64 {
	pooled := prior
	for range 3 { // the weights depend on the result, weakly
		sum, weight := priorDF*prior/(pooled*pooled), priorDF/(pooled*pooled)
		for _, g := range groups {
			if g.DF < 1 || !(g.C > 0) {
				continue
			}
			spread := g.noise() + pooled
			w := g.DF / (spread * spread)
			sum += w * g.Raw()
			weight += w
		}
		pooled = math.Max(sum/weight, prior/100)
	}
	return pooled
}

// Moderated draws a group's own estimate towards the pooled one (as Smyth 2004
// does for variances): the pooled one counts as priorDF degrees of freedom, the
// own one as those it has less what its own errors take from it. It is never
// below half of the pooled one. df are the degrees of freedom of the result.
func (h Heterogeneity) Moderated(pooled, priorDF float64) (variance, df float64) {
	own := h.information(pooled)
	if own == 0 {
		return pooled, priorDF
	}
	return math.Max(pooled/2, (priorDF*pooled+own*h.Between())/(priorDF+own)), priorDF + own
}

// information is the degrees of freedom that a group has for the variance between, less
// what its own errors take from it.
func (h Heterogeneity) information(pooled float64) float64 {
	if h.DF < 1 || !(h.C > 0) {
		return 0
	}
	share := pooled / (h.noise() + pooled)
	return h.DF * share * share
}

const (
	// fewGroups is the number of groups below which their spread is not known.
	fewGroups = 8
	// unknownDF is what a pooled variance counts as there.
	unknownDF                 = 6
	leastPriorDF, mostPriorDF = 4.2, 50
)

// PriorDF says how much a pooled variance knows of that of one group, as degrees of
// freedom: few where the groups' variances differ more than chance explains. It is the
// moment estimate for variances that follow a scaled inverse chi-squared distribution
// (Smyth 2004, section 6).
func PriorDF(groups []Heterogeneity, pooled float64) float64 {
	var n, sum, squares, chance, share float64
	for _, g := range groups {
		if g.DF < 1 || !(g.C > 0) {
			continue
		}
		r := g.Q / (g.DF + g.C*pooled)
		n++
		sum += r
		squares += r * r
		chance += 2 / g.DF
		of := pooled / (g.noise() + pooled)
		share += of * of
	}
	if n < fewGroups {
		return unknownDF
	}
	mean := sum / n
	excess := ((squares/n-mean*mean)/(mean*mean) - chance/n) / (share / n)
	if excess <= 0 {
		return mostPriorDF
	}
	return math.Min(math.Max(4+2/excess, leastPriorDF), mostPriorDF)
}

// PooledDF is the number of degrees of freedom that Pool's result rests on.
func PooledDF(groups []Heterogeneity, pooled, priorDF float64) float64 {
	df := priorDF
	for _, g := range groups {
		df += g.information(pooled)
	}
	return df
}
