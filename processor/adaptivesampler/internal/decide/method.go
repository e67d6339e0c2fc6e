package decide

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

const (
	// priorRecords is the weight of the service's coefficient of variation, in records, in addition
	// to a method's own.
	priorRecords = 20

	// priorMeanRecords is the same for the mean, which differs more from method
	// to method than within one.
	priorMeanRecords = 1

	// smallChange is the relative change of a rate that is not worth serving to SDKs, as long as the
	// budget is still spent to within balanced.
	smallChange = 0.05
	balanced    = 0.02

	// maxRise is the factor by which a rate may rise in one step.
	maxRise = 2
)

// method is the stored state of one key.
type method struct {
	key     Key
	version *version
	rule    *methodfile.Rule
	foreign bool

	seen        time.Time // last
	calls       level
	owed        float64      // calls of intervals that are not evaluated yet
	lately      float64      // calls per second of the last interval
	wall, cpu   WeightedSums // of all intervals, older ones count less
	entry       float64      // weights by caller, decayed
	called      float64
	calleeWall  float64 // ns in methods it called, decayed like its own time
	calleeCPU   float64
	compared    WeightedSums // of the measured quantity, since the comparison began
	comparedOf  string       // cpu or wall
	priorSpread float64      // of the version before, 0 = none
	priorMean   float64
	priorOwn    float64 // part of the mean that is its own
	priorP      float64 // rate
	class       class
	score       score
	p           float64 // in force, 0 = nothing decided yet
	arrived     float64 // p of the last records

	// Of this step.
	now    interval
	still  bool // its rate may not rise
	mode   methodfile.Mode
	reason string
}

// pinned reports whether the method file alone decides.
func (m *method) pinned() bool { return m.rule != nil && m.rule.Pinned() }

// frozen reports whether the method cannot be observed now: no process of the version
// has sent anything, or the method is off.
func (m *method) frozen() bool { return !m.version.heard || m.mode == methodfile.ModeOff }

// measured returns the moments that decisions use: CPU if it is known.
func (m *method) measured() (of *WeightedSums, name string) {
	if m.cpu.Records > 0 {
		return &m.cpu, MeterCPU
	}
	return &m.wall, MeterWall
}

// cv returns the coefficient of variation, shrunk towards that of the service, or of the
// version before.
func (m *method) cv() float64 {
	prior := m.version.service.spread
	if m.priorSpread > 0 {
		prior = m.priorSpread
	}
	own, _ := m.measured()
	return (priorRecords*prior + own.Records*own.CV()) / (priorRecords + own.Records)
}

// cost returns the mean time of a call in ns, in the unit of the service: CPU if any of its methods has it. It is
// shrunk on a logarithmic scale, because means differ by orders of magnitude.
func (m *method) cost() float64 {
	own, name := m.measured()
	mean := own.Mean()
	if name == MeterWall {
		mean *= m.version.service.cpuPerWall
	}
	prior, n := m.version.service.cost, float64(priorMeanRecords)
	if m.priorMean > 0 {
		prior, n = m.priorMean, priorRecords
	}
	if mean <= 0 {
		return prior
	}
	return math.Exp((n*math.Log(prior) + own.Records*math.Log(mean)) / (n + own.Records))
}

// leastOwn is the lowest own part of a method's time: few records can make the time of its callees look like all
// of it.
const leastOwn = 0.01

// ownPart returns the part of the method's time that it does not spend in methods it calls. Few records say little
// about it, so it is shrunk towards that of the version before, or towards 1.
func (m *method) ownPart() float64 {
	prior := 1.0
	if m.priorOwn > 0 {
		prior = m.priorOwn
	}
	own, name := m.measured()
	callees := m.calleeCPU
	if name == MeterWall {
		callees = m.calleeWall
	}
	if own.Sum <= 0 {
		return prior
	}
	found := min(max(1-callees/own.Sum, 0)+0.5*m.cv()/math.Sqrt(max(own.Records, 1)), 1)
	return max(leastOwn, (priorRecords*prior+own.Records*found)/(priorRecords+own.Records))
}

// usual returns the method's frequency while it is called: a resting method must not start again at a rate made
// for rest.
func (m *method) usual() float64 { return max(m.calls.Now, m.calls.average()) }

// rateBounds returns the bounds of a method's rate. The configuration's lowest rate is lowered if a budget is too
// small; the method file's is not.
type rateBounds struct{ least, low, high float64 }

func (m *method) limits(cfg *Config) rateBounds {
	l := rateBounds{methodfile.MinRate, cfg.MinRate, cfg.MaxRate}
	if m.key.isOverflow() {
		l.high = min(l.high, cfg.Overflow.MaxRate)
	}
	if m.rule != nil && m.rule.Max > 0 {
		l.least = m.rule.Bound(l.least)
		l.low, l.high = m.rule.Bound(l.low), m.rule.Bound(l.high)
	}
	l.low = min(l.low, l.high)
	return l
}

// bound moves a rate inside the bounds, with part of the lowest rate in force.
func (l rateBounds) bound(rate, part float64) float64 {
	return min(max(rate, l.least, part*l.low), l.high)
}

// daily returns the method's calls a day. It uses the average while the method is called up to twice as often;
// beyond that the average is outdated.
func (m *method) daily() float64 {
	return max(m.calls.average(), m.calls.Now/2) * secondsPerDay
}

// floorRate returns the rate that gives the floor over a day.
func (m *method) floorRate(cfg *Config) float64 {
	daily := m.daily()
	if daily <= 0 {
		return 1
	}
	return min(1, cfg.FloorRecordsPerDay/daily)
}

// start returns the current rate, from which the first decision starts.
func (m *method) start(cfg *Config) float64 {
	switch {
	case m.p > 0:
		return m.p
	case m.arrived > 0 || m.priorP > 0:
		return max(m.arrived, m.priorP)
	case m.rule != nil && m.rule.Rate > 0:
		return m.rule.Rate
	}
	return cfg.ColdStart.Rate
}

// rising returns the highest rate in this step.
func (m *method) rising(cfg *Config) (rate float64, reason string) {
	if m.still {
		return m.start(cfg), reasonStill
	}
	return maxRise * m.start(cfg), reasonRising
}

// setRate moves the rate in force towards the wanted one: down at once, up by at most
// maxRise, and not up while nothing shows that the budget allows it.
func (m *method) setRate(want float64, reason string, l rateBounds, cfg *Config) {
	if most, why := m.rising(cfg); want > most {
		want, reason = max(most, l.least), why
	}
	m.p, m.reason = want, reason
}

// holdRate returns the rate in force if the wanted one is nearly the same, else that.
func (m *method) holdRate(want float64, l rateBounds) float64 {
	if m.p > 0 && math.Abs(want-m.p) < smallChange*m.p && m.p >= l.least && m.p <= l.high {
		return m.p
	}
	return want
}
