package stats

import (
	"maps"
	"math"
	"slices"
)

// Warning is a reason to believe a figure less. It is a value that travels with
// the figure.
type Warning string

const (
	// LowerBound is the warning of a total whose tail was not sampled.
	LowerBound Warning = "lower bound, tail not sampled"
	// LowerBoundCPU is that of a total of CPU times where the tail of wall times was
	// taken, without the CPU times of all of it.
	LowerBoundCPU Warning = "lower bound, CPU tail not sampled"
)

const (
	leastSample = 100
	// mostSkew is the skewness of an estimated total up to which its interval holds:
	// that of the mean of n records of skewness G is G/sqrt(n), and n >= 25 G^2 is
	// Cochran's rule (Sampling Techniques, 3rd ed., section 2.15).
	mostSkew = 1.0 / 5
)

// Sample is what was measured of some calls.
type Sample struct {
	Calls, Records float64
	Powers         Powers  // of single calls
	Octaves        Octaves // of the same; nil: the tail is not looked at
}

// TailGate reports whether an interval of a total may be printed that several samples
// are part of: it takes 100 records, and 25 G^2 of them, G being the skewness of
// single calls; below that, calls so expensive that none was sampled yet may decide the
// total. Of several samples it is the skewness of the sum that counts, and the records
// count by what they stand for: many of what costs little say nothing of the few of what
// costs most. Samples whose tail is so heavy that no number of records tells how skew they
// are may be a tenth of the total. A sample of all calls leaves nothing to chance.
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

// Octave holds sums over the values of one half octave: the records, the calls they stand
// for, and of these the logarithms of the values.
type Octave struct{ Records, N, Logs float64 }

// Octaves are values by half octave: k holds those from 2^(k/2) on.
type Octaves map[int]Octave

// Add adds other values.
func (o Octaves) Add(other Octaves) {
	for k, p := range other {
		sum := o[k]
		o[k] = Octave{sum.Records + p.Records, sum.N + p.N, sum.Logs + p.Logs}
	}
}

const (
	// tailRecords times the root of the number of records are the largest that the index
	// of a tail is estimated from.
	tailRecords = 2
	// tailErrors is by how many standard errors the index must be above leastIndex. Below
	// 2 the variance is infinite, and an interval holds the truth the less often the
	// less of the tail was sampled.
	tailErrors = 2
	leastIndex = 2.2
	mostHeavy  = 0.1
)

// Heavy reports whether the tail may be so heavy that an interval can't be relied on: by
// Hill's estimator of its index (1975) from the largest values, from the beginning of a
// half octave on. Of fewer than 100 records it is not known, and false.
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

// Powers are sums of powers of the values of single calls. They add up.
type Powers struct{ N, X, XX, XXX float64 }

// Add adds the sums of other calls.
func (p *Powers) Add(o Powers) {
	p.N += o.N
	p.X += o.X
	p.XX += o.XX
	p.XXX += o.XXX
}

// central moments; 0 where only rounding says that values differ, false of no calls.
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

// Skewness of the values.
func (p Powers) Skewness() float64 {
	square, cube, _ := p.central()
	if square == 0 {
		return 0
	}
	return cube / math.Pow(square, 1.5)
}
