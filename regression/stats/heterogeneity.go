package stats

import "math"

// Heterogeneity measures how much the estimates of a group differ beyond their own errors: Cochran's Q, its degrees of
// freedom, and the factor C by which the between-group variance raises Q. Values of groups that share this variance
// can be added.
type Heterogeneity struct{ Q, DF, C float64 }

// HeterogeneityOf compares estimates with known variances. It ignores estimates without a positive finite variance.
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

// Add returns the heterogeneity of two groups, each around its own mean.
func (h Heterogeneity) Add(o Heterogeneity) Heterogeneity {
	return Heterogeneity{h.Q + o.Q, h.DF + o.DF, h.C + o.C}
}

// Raw returns the estimate of the between-group variance by DerSimonian and Laird (1986). It is not clipped at zero,
// so its average over many groups is unbiased.
func (h Heterogeneity) Raw() float64 {
	if !(h.C > 0) {
		return 0
	}
	return (h.Q - h.DF) / h.C
}

// Between returns Raw, clipped at zero.
func (h Heterogeneity) Between() float64 { return math.Max(0, h.Raw()) }

// noise returns the mean error variance of the estimates.
func (h Heterogeneity) noise() float64 { return h.DF / h.C }

// Pool estimates the between-group variance common to many groups: the mean of their raw estimates, weighted by their
// precision. The prior counts as priorDF estimates without error.
func Pool(groups []Heterogeneity, prior, priorDF float64) float64 {
	pooled := prior
	for range 3 { // the weights depend weakly on the result
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

// Moderated shrinks a group's own estimate towards the pooled one (as Smyth 2004 does for variances). The pooled
// estimate counts as priorDF degrees of freedom, the own one as its information. The result is at least half of the
// pooled one. df is the number of degrees of freedom of the result.
func (h Heterogeneity) Moderated(pooled, priorDF float64) (variance, df float64) {
	own := h.information(pooled)
	if own == 0 {
		return pooled, priorDF
	}
	return math.Max(pooled/2, (priorDF*pooled+own*h.Between())/(priorDF+own)), priorDF + own
}

// information returns the degrees of freedom of a group for the between-group variance, reduced for the errors of its
// estimates.
func (h Heterogeneity) information(pooled float64) float64 {
	if h.DF < 1 || !(h.C > 0) {
		return 0
	}
	share := pooled / (h.noise() + pooled)
	return h.DF * share * share
}

const (
	// fewGroups is the number of groups below which the spread of their variances is unknown.
	fewGroups = 8
	// unknownDF is the PriorDF in this case.
	unknownDF                 = 6
	leastPriorDF, mostPriorDF = 4.2, 50
)

// PriorDF returns the degrees of freedom of a pooled variance as a prior for the variance of one group. They are few
// if the variances of the groups differ more than chance explains. It is the moment estimate for variances with a
// scaled inverse chi-squared distribution (Smyth 2004, section 6).
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

// PooledDF returns the degrees of freedom of the result of Pool.
func PooledDF(groups []Heterogeneity, pooled, priorDF float64) float64 {
	df := priorDF
	for _, g := range groups {
		df += g.information(pooled)
	}
	return df
}
