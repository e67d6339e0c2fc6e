package adaptivesampler

import (
	"math"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

const secondsPerDay = 24 * 60 * 60

// traffic is the recent traffic of a method, per second.
type traffic struct {
	calls, kept, entryShare float64 // entryShare is NaN if no caller is known
	cpu, wall               decide.WeightedSums
	arrived                 float64
}

// side returns the quantity used for costs and its name: CPU time if known, else wall time.
func (t *traffic) side() (*decide.WeightedSums, string) {
	if t.cpu.Records > 0 {
		return &t.cpu, "cpu"
	}
	return &t.wall, "wall"
}

// traffic returns the recent traffic from exponentially faded sums. The table's lock must be held.
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

// coefficientOfVariation returns the coefficient of variation of single calls, or 0 for fewer than two records.
func coefficientOfVariation(s *decide.WeightedSums) float64 {
	if s.Records < 2 {
		return 0
	}
	return s.CV()
}

// dayError returns the relative standard error of a day's total, by the ratio estimator with exact counts:
// cv x sqrt((1 - q) / n), where n is the expected number of records per day at probability q. It returns NaN if
// n is 0 or unknown.
func dayError(cv, callsPerSecond, q float64) float64 {
	n := callsPerSecond * secondsPerDay * q
	if !(n > 0) {
		return math.NaN()
	}
	return cv * math.Sqrt(max(1-q, 0)/n)
}

// shadowError sums the cost of a tier and the variance of that cost.
type shadowError struct {
	total, arriving, shadow float64 // total in ns per second, the others in its square
	usd                     float64 // per day
}

func (e *shadowError) addMethod(m *method) {
	t := m.traffic()
	side, of := t.side()
	if !(side.Weight > 0) || !(t.calls > 0) || !(t.arrived > 0) {
		return
	}
	total, cv := t.calls*side.Sum/side.Weight, coefficientOfVariation(side)
	share := 1.0 // fraction of the records that have this quantity
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
