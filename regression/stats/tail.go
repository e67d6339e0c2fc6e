package stats

import (
	"maps"
	"math"
	"slices"
)

// Warning is a reason to trust a figure less. It is returned with the figure.
type Warning string

const (
	// LowerBound is the warning for a total whose tail was not sampled.
	LowerBound Warning = "lower bound, tail not sampled"
	// LowerBoundCPU is the warning for a total of CPU times whose tail was sampled by wall time, with CPU times
	// missing for part of it.
	LowerBoundCPU Warning = "lower bound, CPU tail not sampled"
)

const (
	leastSample = 100
	// mostSkew is the maximum skewness of an estimated total for a valid interval. The mean of n records of skewness G
	// has skewness G/sqrt(n), and n >= 25 G^2 is Cochran's rule (Sampling Techniques, 3rd ed., section 2.15).
	mostSkew = 1.0 / 5
)

// Sample is a set of measured calls.
type Sample struct {
	Calls, Records float64
	Powers         Powers  // of single calls
	Octaves        Octaves // of single calls; nil: the tail is not tested
}

// TailGate reports whether the interval of a total over several samples can be shown. It needs 100 records and at
// least 25 G^2 records, where G is the skewness of single calls. With fewer, calls too rare to be sampled yet can
// dominate the total. For several samples the skewness of the sum counts, and records are weighted by their part of
// the total: many records of a cheap sample give no information about the few of an expensive one. Samples with a
// heavy tail, whose skewness no number of records can estimate, can make up at most a tenth of the total. A complete
// sample of all calls has no sampling error.
func TailGate(samples ...Sample) bool {
	var unsure, variance, cube, total, heavy float64
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
		if s.Octaves != nil && s.Octaves.Heavy() {
			heavy += x
		}
		square, third, ok := s.Powers.central()
		if !ok || s.Records == 0 {
			return false
		}
		unsure += x * x / s.Records
		variance += s.Calls * s.Calls * square / s.Records
		cube += s.Calls * s.Calls * s.Calls * third / (s.Records * s.Records)
	}
	return !chance || total*total >= leastSample*unsure && heavy <= mostHeavy*total && cube <= mostSkew*math.Pow(variance, 1.5)
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
	// tailRecords times the root of the number of records is the number of largest values from which the index of a
	// tail is estimated.
	tailRecords = 2
	// tailErrors is the number of standard errors by which the index must exceed leastIndex. Below an index of 2 the
	// variance is infinite, and the coverage of an interval falls the less of the tail was sampled.
	tailErrors = 2
	leastIndex = 2.2
	mostHeavy  = 0.1
)

// Heavy reports whether the tail can be too heavy for a valid interval. It applies Hill's estimator of the tail index
// (1975) to the largest values, starting at a half octave. With fewer than 100 records it returns false.
func (o Octaves) Heavy() bool {
	records := 0.0
	for _, p := range o {
		records += p.Records
	}
	if records < leastSample {
		return false
	}
	want := tailRecords * math.Sqrt(records)
	var tail Octave
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(o))) {
		p := o[k]
		tail = Octave{tail.Records + p.Records, tail.N + p.N, tail.Logs + p.Logs}
		if tail.Records < want {
			continue
		}
		excess := tail.Logs/tail.N - float64(k)/2*math.Ln2
		return !(1/excess*(1-tailErrors/math.Sqrt(tail.Records)) >= leastIndex)
	}
	return false
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
