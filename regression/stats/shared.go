package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Vote is the evidence of one method about a change that all methods share: its own change on the log scale, the
// variance of the error, and the degrees of freedom of that variance.
type Vote struct{ Change, Variance, DF float64 }

const (
	// changedPrior is the prior probability that a method itself changed, changedSD the standard deviation of such a
	// change.
	changedPrior, changedSD = 0.1, 0.5
	// responseSpread is the standard deviation of the response of methods to a slow host, as a share of the
	// slowdown.
	responseSpread = 0.15
	// widest is the largest shared change considered, as a logarithm: e^4 is a factor of 55.
	widest = 4.0
)

// FeltVariance returns the variance of an error at a shared change c.
func FeltVariance(variance, c float64) float64 { return variance + responseSpread*responseSpread*c*c }

// Shared is the likelihood, on a grid, of a change c that all voters share. The density of a vote is narrow around c,
// or wide if its method itself changed. The prior describes the difference between the hosts of the two versions:
// Student's t around 0.
type Shared struct {
	votes    []Vote
	c, step  []float64 // grid points and the width of each
	logPrior []float64
	log      [][]float64 // log likelihood of each vote, by grid point
	total    []float64
	all      []float64 // probability that the method of each vote changed, from the posterior of all votes; used with many votes
}

// NewShared returns the likelihood of the votes. priorVariance and priorDF describe the differences between hosts. The
// grid is also fine around the votes in extra.
func NewShared(votes []Vote, priorVariance, priorDF float64, extra ...Vote) *Shared {
	priorSD := math.Sqrt(math.Max(priorVariance, 1e-8))
	s := &Shared{votes: votes}
	s.makeGrid(priorSD, extra)
	prior := NewT(priorDF)
	s.logPrior = make([]float64, len(s.c))
	s.total = make([]float64, len(s.c))
	for i, c := range s.c {
		s.logPrior[i] = prior.LogDensity(c/priorSD) - math.Log(priorSD)
	}
	s.log = make([][]float64, len(votes))
	for j, v := range votes {
		own := make([]float64, len(s.c))
		t := NewT(v.DF)
		for i, c := range s.c {
			narrow, wide := v.parts(t, c)
			own[i] = math.Log(narrow + wide)
			s.total[i] += own[i]
		}
		s.log[j] = own
	}
	return s
}

// parts returns the densities of a vote at c: narrow if its method did not change, wide if it did.
func (v Vote) parts(t T, c float64) (narrow, wide float64) {
	sd := math.Sqrt(FeltVariance(v.Variance, c))
	narrow = (1 - changedPrior) * math.Exp(t.LogDensity((v.Change-c)/sd)) / sd
	spread := v.Variance + changedSD*changedSD
	wide = changedPrior * math.Exp(-(v.Change-c)*(v.Change-c)/(2*spread)) / math.Sqrt(2*math.Pi*spread)
	return narrow, wide
}

// makeGrid places grid points densely where the likelihood can be narrow: around the weighted median of the votes,
// around 0 and, with few votes, around each vote.
func (s *Shared) makeGrid(priorSD float64, extra []Vote) {
	around := func(at, sd float64) {
		sd = math.Max(sd, 1e-5)
		s.c = append(s.c, at)
		for d, step := 0.0, 0.25*sd; d < 2*widest; step *= 1.12 {
			d += step
			if d > 4*sd {
				step *= 1.15
			}
			s.c = append(s.c, at-d, at+d)
		}
	}
	around(0, priorSD)
	precision := 0.0
	values := make([]Weighted, 0, len(s.votes))
	for _, v := range s.votes {
		precision += 1 / v.Variance
		values = append(values, Weighted{v.Change, 1 / v.Variance})
	}
	if precision > 0 {
		around(WeightedMedian(values), 1/math.Sqrt(precision))
	}
	near := extra
	if len(s.votes) <= fewVotes {
		near = append(slices.Clone(extra), s.votes...)
	}
	for _, v := range near {
		sd := math.Sqrt(v.Variance)
		for k := -12; k <= 12; k++ {
			s.c = append(s.c, v.Change+float64(k)*sd/3)
		}
	}
	slices.Sort(s.c)
	kept := s.c[:0]
	for _, c := range s.c {
		if math.Abs(c) <= widest && (len(kept) == 0 || c-kept[len(kept)-1] > 1e-7) {
			kept = append(kept, c)
		}
	}
	s.c = kept
	s.step = make([]float64, len(s.c))
	for i := range s.c {
		low, high := max(i-1, 0), min(i+1, len(s.c)-1)
		s.step[i] = (s.c[high] - s.c[low]) / 2
	}
}

// Without is the posterior of the shared change with one vote left out.
type Without struct {
	s      *Shared
	weight []float64 // posterior by grid point; sums to 1
	Voters int
	// Mean, SD, Low and High describe the posterior; Low and High are the limits of the 95% interval.
	Mean, SD, Low, High float64
	// Moved is the expected share of voters whose methods themselves changed.
	Moved float64
	// Likeliest is the grid point with the largest likelihood, ignoring the prior. Variance is the variance of its
	// error.
	Likeliest, Variance float64
}

// Without returns the posterior without one vote, or of all votes for -1.
func (s *Shared) Without(vote int) *Without {
	n := len(s.c)
	w := &Without{s: s, weight: make([]float64, n), Voters: len(s.votes)}
	logL := s.total
	if vote >= 0 {
		w.Voters--
		logL = make([]float64, n)
		for i := range logL {
			logL[i] = s.total[i] - s.log[vote][i]
		}
	}
	top, best := math.Inf(-1), math.Inf(-1)
	for i := range logL {
		top = math.Max(top, logL[i]+s.logPrior[i])
		if logL[i] > best {
			best, w.Likeliest = logL[i], s.c[i]
		}
	}
	sum := 0.0
	for i := range logL {
		w.weight[i] = math.Exp(logL[i]+s.logPrior[i]-top) * s.step[i]
		sum += w.weight[i]
	}
	for i := range logL {
		w.weight[i] /= sum
		w.Mean += w.weight[i] * s.c[i]
	}
	below := 0.0
	w.Low, w.High = s.c[0], s.c[n-1]
	for i, c := range s.c {
		w.SD += w.weight[i] * (c - w.Mean) * (c - w.Mean)
		before := below
		below += w.weight[i]
		if before < 0.025 && below >= 0.025 {
			w.Low = c
		}
		if before < 0.975 && below >= 0.975 {
			w.High = c
		}
	}
	w.SD = math.Sqrt(w.SD)
	precision := 0.0
	for j, v := range s.votes {
		if j != vote {
			precision += 1 / FeltVariance(v.Variance, w.Likeliest)
		}
	}
	if precision > 0 {
		w.Variance = 1 / precision
	}
	w.Moved = s.moved(w, vote)
	return w
}

// fewVotes is the maximum number of votes for which the probabilities of a change are computed again without the vote
// left out. With more votes, leaving one out only removes its own probability.
const fewVotes = 16

// moved returns the expected share of voters whose methods themselves changed.
func (s *Shared) moved(w *Without, vote int) float64 {
	if w.Voters <= 0 {
		return 0
	}
	of := s.all
	if of == nil {
		of = s.movedBy(w.weight)
		if len(s.votes) > fewVotes {
			s.all = of
		}
	}
	sum := 0.0
	for j, p := range of {
		if j != vote {
			sum += p
		}
	}
	return sum / float64(w.Voters)
}

// movedBy returns, for each vote, the probability that its method itself changed. weight is the posterior of the
// shared change by grid point.
func (s *Shared) movedBy(weight []float64) []float64 {
	out := make([]float64, len(s.votes))
	for j, v := range s.votes {
		t := NewT(v.DF)
		for i, p := range weight {
			if p > 1e-4 {
				narrow, wide := v.parts(t, s.c[i])
				out[j] += p * wide / (narrow + wide)
			}
		}
	}
	return out
}

// LogE returns the logarithm of an e-value against "the method itself changed by at most the margin". Its change is an
// estimate that contains loading times the shared change. The e-value is the likelihood ratio of a mixture of effects
// to the most likely change up to the margin, both averaged over the posterior of the shared change.
func (w *Without) LogE(change float64, e Error, loading, margin float64, scales []float64) float64 {
	if !(e.Variance > 0) || math.IsNaN(change) {
		return 0
	}
	const negligible = 1e-13
	t := NewT(e.DF)
	var effects, nulls logSum
	for i, c := range w.s.c {
		if w.weight[i] < negligible {
			continue
		}
		at := Error{FeltVariance(e.Variance, loading*c), e.DF}
		effect, null := at.logDensities(t, change-loading*c, margin, scales)
		weight := math.Log(w.weight[i])
		effects.addLog(weight + effect)
		nulls.addLog(weight + null)
	}
	return effects.log() - nulls.log()
}

// logSum is the logarithm of a sum of terms given as logarithms.
type logSum struct{ top, sum float64 }

func (l *logSum) addLog(log float64) {
	switch {
	case l.sum == 0:
		l.top, l.sum = log, 1
	case log > l.top:
		l.top, l.sum = log, l.sum*math.Exp(l.top-log)+1
	default:
		l.sum += math.Exp(log - l.top)
	}
}

func (l *logSum) log() float64 { return l.top + math.Log(l.sum) }

// Interval returns the 95% interval of change - loading * c. The error of change follows Student's t.
func (w *Without) Interval(change, variance, df, loading float64) (low, high float64) {
	const narrow = 0.35
	variance = FeltVariance(variance, loading*w.Mean)
	sd := math.Sqrt(variance)
	if loading*w.SD < narrow*sd {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: math.Min(df, 1e6)}
		half := t.Quantile(0.975) * math.Hypot(sd, loading*w.SD)
		return change - loading*w.Mean - half, change - loading*w.Mean + half
	}
	t, density := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: math.Min(df, 1e6)}, NewT(df)
	// at returns the probability of an error up to x, and its density.
	at := func(x float64) (p, slope float64) {
		for i, share := range w.weight {
			if share > 1e-5 {
				z := (x - change + loading*w.s.c[i]) / sd
				p += share * t.CDF(z)
				slope += share * math.Exp(density.LogDensity(z)) / sd
			}
		}
		return p, slope
	}
	far := 2*widest + 20*sd
	find := func(p, guess float64) float64 { // Newton's method within a bracket that each step narrows
		const precision = 1e-12
		low, high := change-far, change+far
		x := min(max(guess, low), high)
		for range 60 {
			reached, slope := at(x)
			if reached < p {
				low = x
			} else {
				high = x
			}
			next := x - (reached-p)/slope
			if !(low < next && next < high) {
				next = (low + high) / 2
			}
			if math.Abs(next-x) <= precision*far {
				return next
			}
			x = next
		}
		return x
	}
	middle, half := change-loading*w.Mean, 2*math.Hypot(sd, loading*w.SD)
	return find(0.025, middle-half), find(0.975, middle+half)
}
