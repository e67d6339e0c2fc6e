package stats

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Warning is a reason to trust a figure less. It is returned with the figure.
type Warning string

const (
	// LowerBound is the warning for a total that calls too rare for the sample can determine.
	LowerBound Warning = "lower bound, tail not sampled"
	// LowerBoundCPU is the warning for a total of CPU times whose tail was sampled by wall time, with CPU times
	// missing for part of it.
	LowerBoundCPU Warning = "lower bound, CPU tail not sampled"
	// FewRecords is the warning for a total of fewer than LeastRecords records.
	FewRecords Warning = "too few timed calls for an interval"
)

// LeastRecords is the number of records that an interval needs. With fewer, a tail of Pareto form and two values far
// apart look like a lognormal distribution.
const LeastRecords = 100

// Sample is a set of measured calls.
type Sample struct {
	Calls, Records float64
	Powers         Powers  // of single calls
	Octaves        Octaves // of single calls; nil: the tail is not tested
}

// Tail describes the sampling error of a total over several samples.
type Tail struct {
	// Skewness is that of the estimated total, at most 1. It assumes a lognormal distribution with the spread of the
	// larger half of the calls, unless the calls are more skewed: a sample lacks the rarest calls.
	Skewness float64
	// Few is set if the total depends on fewer than LeastRecords records.
	Few bool
	// Open is set if the most expensive calls, seen too rarely, can determine the total.
	Open bool
}

// mostOpen is the largest part of a total in samples with an open tail.
const mostOpen = 0.1

// TailOf returns the tail of a total over several samples. Records are weighted by their part of the total: many
// records of a cheap sample give no information about the few of an expensive one. A complete sample of all calls has
// no sampling error.
func TailOf(samples ...Sample) Tail {
	var unsure, variance, cube, total, open float64
	chance := false
	for _, s := range samples {
		x := 0.0
		if s.Powers.N > 0 {
			x = s.Calls * s.Powers.X / s.Powers.N
		}
		total += x
		if !(s.Calls > s.Records) {
			continue
		}
		chance = true
		square, third, ok := s.Powers.central()
		if !ok || s.Records == 0 {
			return Tail{Few: true}
		}
		if s.Octaves != nil {
			third = max(third, s.Octaves.lognormalSkewness()*math.Pow(square, 1.5))
			if s.Octaves.Open(s.Records) {
				open += x
			}
		}
		unsure += x * x / s.Records
		variance += s.Calls * s.Calls * square / s.Records
		cube += s.Calls * s.Calls * s.Calls * third / (s.Records * s.Records)
	}
	enough := total > 0 && total*total*(1+1e-9) >= LeastRecords*unsure // calls without any time have no spread
	t := Tail{Few: chance && !enough, Open: open > mostOpen*total}
	if variance > 0 {
		t.Skewness = min(1, cube/math.Pow(variance, 1.5))
	}
	return t
}

// Octave holds sums over the values of one half octave: the number of records, the number of calls N that they
// represent, and the sum of the logarithms of the values over these calls.
type Octave struct{ Records, N, Logs float64 }

// Octaves holds values by half octave: key k contains those from 2^(k/2) up to the next half octave.
type Octaves map[int]Octave

// Add adds the values of other.
func (o Octaves) Add(other Octaves) {
	for k, p := range other {
		sum := o[k]
		o[k] = Octave{sum.Records + p.Records, sum.N + p.N, sum.Logs + p.Logs}
	}
}

const (
	// leastIndex is the tail index below which the variance is infinite and no interval covers the truth.
	leastIndex = 2
	// heavyErrors is the number of standard errors by which a tail must be longer than that of the lognormal
	// distribution with the same body, and heavySkewness the skewness of logarithms that no such distribution has in
	// 100 records.
	heavyErrors   = 1.8
	heavySkewness = 0.8
	// A gap is more than gapOctaves half octaves without a value, below fewer than gapRecords records of a sample.
	gapOctaves = 4
	gapRecords = 5
)

// Open reports whether the largest values are too rare to know how much they add to a sample of a number of records:
// there is a gap below them, or the tail is heavy. The values can be those of a longer time than the sample's.
func (o Octaves) Open(records float64) bool {
	return o.gap(min(1, records/o.sum().Records)) || o.heavy()
}

// keys returns the half octaves with values, the largest first.
func (o Octaves) keys() []int {
	keys := slices.Sorted(maps.Keys(o))
	slices.Reverse(keys)
	return keys
}

// sum returns the sums over all values.
func (o Octaves) sum() (all Octave) {
	for _, p := range o {
		all = Octave{all.Records + p.Records, all.N + p.N, all.Logs + p.Logs}
	}
	return all
}

// gap reports whether a sample of a share of the records expects fewer than gapRecords above a gap.
func (o Octaves) gap(share float64) bool {
	keys, above := o.keys(), 0.0
	for i, k := range keys {
		if i > 0 && keys[i-1]-k > gapOctaves {
			return true
		}
		if above += o[k].Records * share; above >= gapRecords {
			return false
		}
	}
	return true // the other calls took no time
}

// heavy reports whether the index of the tail can be below leastIndex. Hill's estimator (1975), over the largest
// 2 sqrt(n) and sqrt(n) of n values, must exceed it by a standard error. For lognormal values the estimator rises only
// slowly with n. So a tail is light, too, if it is as long as that of the lognormal distribution with the same median
// and the same quantile at its beginning.
func (o Octaves) heavy() bool {
	all := o.sum()
	tail, from := o.largest(2 * math.Sqrt(all.Records))
	top, topFrom := o.largest(math.Sqrt(all.Records))
	if tail.bounded(from) || top.bounded(topFrom) {
		return false
	}
	share := tail.N / all.N
	if share >= 0.5 {
		return false
	}
	normal := distuv.UnitNormal
	z := normal.Quantile(1 - share)
	spread := (from - o.median()) / z
	lognormal := spread * (normal.Prob(z)/share - z) // mean excess of its logarithms
	return math.Log(tail.excess(from)/lognormal)*math.Sqrt(tail.Records) > heavyErrors || o.logSkewness() > heavySkewness
}

// largest returns the sums over at least want of the largest records, and the logarithm of the value where they begin.
func (o Octaves) largest(want float64) (tail Octave, from float64) {
	for _, k := range o.keys() {
		p := o[k]
		tail, from = Octave{tail.Records + p.Records, tail.N + p.N, tail.Logs + p.Logs}, begin(k)
		if tail.Records >= want {
			break
		}
	}
	return tail, from
}

// begin returns the logarithm of the lower end of a half octave.
func begin(k int) float64 { return float64(k) / 2 * math.Ln2 }

// withinOctave is the variance of logarithms that are uniform in a half octave.
const withinOctave = math.Ln2 * math.Ln2 / 48

// bounded reports whether Hill's estimate of the tail index exceeds leastIndex by a standard error.
func (p Octave) bounded(from float64) bool {
	return 1-1/math.Sqrt(p.Records) >= leastIndex*p.excess(from)
}

// excess returns the mean of the logarithms above from.
func (p Octave) excess(from float64) float64 { return p.Logs/p.N - from }

// median returns the median of the logarithms.
func (o Octaves) median() float64 {
	above, half := 0.0, o.sum().N/2
	for _, k := range o.keys() {
		if n := o[k].N; above+n >= half {
			return begin(k) + (1-(half-above)/n)*math.Ln2/2
		}
		above += o[k].N
	}
	return 0
}

// logSkewness returns the skewness of the logarithms.
func (o Octaves) logSkewness() float64 {
	all := o.sum()
	var square, cube float64
	for _, p := range o {
		d := p.excess(all.Logs / all.N)
		square, cube = square+p.N*(d*d+withinOctave), cube+p.N*d*d*d
	}
	return cube / all.N / math.Pow(square/all.N, 1.5)
}

// lognormalSkewness returns the skewness of the lognormal distribution whose logarithms spread around their median as
// those of the larger half of the values do.
func (o Octaves) lognormalSkewness() float64 {
	median := o.median()
	var n, square float64
	for k, p := range o {
		switch d := begin(k) - median; {
		case d >= 0:
			n, square = n+p.N, square+p.N*(p.excess(median)*p.excess(median)+withinOctave)
		case d > -math.Ln2/2: // the octave of the median
			part := d + math.Ln2/2
			n, square = n+p.N*part/(math.Ln2/2), square+p.N*part/(math.Ln2/2)*part*part/3
		}
	}
	if !(n > 0) {
		return 0
	}
	e := math.Exp(min(20, square/n))
	return (e + 2) * math.Sqrt(e-1)
}

// Powers holds sums of powers of the values of single calls. They can be added.
type Powers struct{ N, X, XX, XXX float64 }

// Add adds the sums of other calls.
func (p *Powers) Add(o Powers) {
	p.N += o.N
	p.X += o.X
	p.XX += o.XX
	p.XXX += o.XXX
}

// central returns the central moments, 0 if the values differ only by rounding; ok is false without calls.
func (p Powers) central() (square, cube float64, ok bool) {
	if !(p.N > 0) {
		return 0, 0, false
	}
	m, second := p.X/p.N, p.XX/p.N
	const rounding = 1e-9
	if square = second - m*m; square <= rounding*second {
		return 0, 0, true
	}
	return square, p.XXX/p.N - 3*m*second + 2*m*m*m, true
}

// Skewness returns the skewness of the values.
func (p Powers) Skewness() float64 {
	square, cube, _ := p.central()
	if square == 0 {
		return 0
	}
	return cube / math.Pow(square, 1.5)
}
