package stats

import "math"

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
	Powers         Powers // of single calls
}

// TailGate tells whether an interval of a total may be printed that several samples
// are part of: it takes 100 records, and 25 G^2 of them, G being the skewness of
// single calls; below that, calls so dear that none was sampled yet may decide the
// total. Of several samples it is the skewness of the sum that counts. A sample of
// all calls leaves nothing to chance.
func TailGate(samples ...Sample) bool {
	var records, variance, cube float64
	chance := false
	for _, s := range samples {
		records += s.Records
		if !(s.Calls > s.Records) {
			continue
		}
		chance = true
		square, third, ok := s.Powers.central()
		if !ok || s.Records == 0 {
			return false
		}
		variance += s.Calls * s.Calls * square / s.Records
		cube += s.Calls * s.Calls * s.Calls * third / (s.Records * s.Records)
	}
	return !chance || records >= leastSample && cube <= mostSkew*math.Pow(variance, 1.5)
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
