package decide

import (
	"math"
	"time"
)

// Decay reduces the weight of all records so far.
func (s *WeightedSums) Decay(factor float64) {
	s.Records *= factor
	s.Weight *= factor
	s.Sum *= factor
	s.Squares *= factor
}

// Add adds the records of others.
func (s *WeightedSums) Add(o *WeightedSums) {
	s.Records += o.Records
	s.Weight += o.Weight
	s.Sum += o.Sum
	s.Squares += o.Squares
}

// addValid adds an interval's sums. Invalid ones are skipped, so that they do not stay for
// days.
func (s *WeightedSums) addValid(o *WeightedSums) {
	if o.valid() {
		s.Add(o)
	}
}

func (s *WeightedSums) valid() bool {
	for _, x := range [...]float64{s.Records, s.Weight, s.Sum, s.Squares} {
		if !validAmount(x) {
			return false
		}
	}
	return s.Weight > 0
}

// validAmount reports whether a sum is valid: finite, not negative, and far from overflowing
// when others are added to it.
func validAmount(x float64) bool { return x >= 0 && x < 1e100 }

// Mean returns the weighted mean, 0 without records.
func (s *WeightedSums) Mean() float64 {
	if s.Weight <= 0 {
		return 0
	}
	return s.Sum / s.Weight
}

// CV returns the coefficient of variation, the weighted standard deviation over the mean, 0
// without records.
func (s *WeightedSums) CV() float64 {
	mean := s.Mean()
	if mean <= 0 {
		return 0
	}
	return math.Sqrt(max(s.Squares/s.Weight-mean*mean, 0)) / mean
}

// halved returns the factor that is left after d.
func halved(d, halfLife time.Duration) float64 {
	if d <= 0 {
		return 1
	}
	return math.Exp2(-d.Seconds() / halfLife.Seconds())
}
