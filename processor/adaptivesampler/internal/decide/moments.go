package decide

import (
	"math"
	"time"
)

// moments are the sums of all intervals, older ones counting less.
type moments Sums

func (m *moments) decay(factor float64) {
	m.Records *= factor
	m.Weight *= factor
	m.Sum *= factor
	m.Squares *= factor
}

// add takes an interval's sums. What can only be a fault is left out, so that it
// cannot stay for days.
func (m *moments) add(s Sums) {
	if !s.sound() {
		return
	}
	m.Records += s.Records
	m.Weight += s.Weight
	m.Sum += s.Sum
	m.Squares += s.Squares
}

func (s Sums) sound() bool {
	for _, x := range [...]float64{s.Records, s.Weight, s.Sum, s.Squares} {
		if !sound(x) {
			return false
		}
	}
	return s.Weight > 0
}

// sound tells whether a sum can be one: finite, far from overflowing when others
// are added to it, and not negative.
func sound(x float64) bool { return x >= 0 && x < 1e100 }

// mean is the weighted mean, 0 without records.
func (m *moments) mean() float64 {
	if m.Weight <= 0 {
		return 0
	}
	return m.Sum / m.Weight
}

// spread is the weighted standard deviation over the mean, 0 without records.
func (m *moments) spread() float64 {
	mean := m.mean()
	if mean <= 0 {
		return 0
	}
	return math.Sqrt(max(m.Squares/m.Weight-mean*mean, 0)) / mean
}

// halved is the factor that is left after d.
func halved(d, halfLife time.Duration) float64 {
	if d <= 0 {
		return 1
	}
	return math.Exp2(-d.Seconds() / halfLife.Seconds())
}
