package adaptivesampler

import (
	"math"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

const secondsPerDay = 24 * 60 * 60

// traffic is what is known of a method at one time, per second.
type traffic struct {
	calls, kept, entryShare float64 // entryShare is NaN where no caller is known
	cpu, wall               decide.WeightedSums
	arrived                 float64
}

// side returns the quantity that costs are made of: CPU time where it is known, wall
// time elsewhere.
func (t *traffic) side() (*decide.WeightedSums, string) {
	if t.cpu.Records > 0 {
		return &t.cpu, "cpu"
	}
	return &t.wall, "wall"
}

// traffic reads what time has not made old. The table is locked.
func (m *method) traffic() traffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := traffic{entryShare: math.NaN(), cpu: m.recent.cpu, wall: m.recent.wall, arrived: m.arrived}
	if m.seconds > 0 {
		t.calls, t.kept = m.recent.calls/m.seconds, m.recent.kept/m.seconds
	}
	if m.recent.called > 0 {
		t.entryShare = m.recent.entry / m.recent.called
	}
	return t
}

// coefficientOfVariation returns that of single calls, 0 where too few records show it.
func coefficientOfVariation(s *decide.WeightedSums) float64 {
	if s.Records < 2 {
		return 0
	}
	return s.CV()
}

// dayError returns the relative standard error of a day's total, by the ratio estimator
// with exact counts: cv x sqrt((1 - q) / n), n records of that probability. It is
// NaN where there is nothing to go by.
func dayError(cv, callsPerSecond, q float64) float64 {
	n := callsPerSecond * secondsPerDay * q
	if !(n > 0) {
		return math.NaN()
	}
	return cv * math.Sqrt(max(1-q, 0)/n)
}

// shadowError adds up what a tier costs and the variances of that.
type shadowError struct {
	total, arriving, shadow float64 // ns per second; squares of it
	usd                     float64 // a day
}

func (e *shadowError) addMethod(m *method) {
	t := m.traffic()
	side, of := t.side()
	if !(side.Weight > 0) || !(t.calls > 0) || !(t.arrived > 0) {
		return
	}
	total, cv := t.calls*side.Sum/side.Weight, coefficientOfVariation(side)
	share := 1.0 // of the records, those with this quantity
	if t.wall.Records > 0 {
		share = min(side.Records/t.wall.Records, 1)
	}
	e.total += total
	if of == "cpu" {
		e.usd += total / 1e9 * secondsPerDay / 3600 * m.group.price()
	}
	variance := func(rate float64) float64 {
		if single := total * dayError(cv, t.calls, rate*share); single > 0 {
			return single * single
		}
		return 0
	}
	e.arriving += variance(t.arrived)
	e.shadow += variance(min(t.arrived, m.decision.rate))
}

func (e *shadowError) relative(variance float64) float64 {
	if e.total <= 0 {
		return 0
	}
	return math.Sqrt(variance) / e.total
}
