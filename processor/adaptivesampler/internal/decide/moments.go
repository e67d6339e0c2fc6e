package decide

import (
	"math"
	"time"
)

// moments are the sums of all intervals, older ones counting less.
type moments WeightedSums

func (m *moments) decay(factor float64) {
	m.Records *= factor
	m.Weight *= factor
	m.Sum *= factor
	m.Squares *= factor
}

// addSums adds an interval's sums. Invalid ones are skipped, so that they do not stay for
// days.
func (m *moments) addSums(s WeightedSums) {
	if !s.sound() {
		return
	}
	m.Records += s.Records
	m.Weight += s.Weight
	m.Sum += s.Sum
	m.Squares += s.Squares
}

func (s WeightedSums) sound() bool {
	for _, x := range [...]float64{s.Records, s.Weight, s.Sum, s.Squares} {
		if !sound(x) {
			return false
		}
	}
	return s.Weight > 0
}

// sound reports whether a sum is valid: finite, not negative, and far from overflowing
// when others are added to it.
func sound(x float64) bool { return x >= 0 && x < 1e100 }

// mean returns the weighted mean, 0 without records.
func (m *moments) mean() float64 {
	if m.Weight <= 0 {
		return 0
	}
	return m.Sum / m.Weight
}

// cv returns the weighted standard deviation over the mean, 0 without records.
func (m *moments) cv() float64 {
	mean := m.mean()
	if mean <= 0 {
		return 0
	}
	return math.Sqrt(max(m.Squares/m.Weight-mean*mean, 0)) / mean
}

// halved returns the factor that is left after d.
func halved(d, halfLife time.Duration) float64 {
	if d <= 0 {
		return 1
	}
	return math.Exp2(-d.Seconds() / halfLife.Seconds())
}
