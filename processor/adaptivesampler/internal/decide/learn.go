package decide

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
)

// age reduces the weight of earlier data.
func (m *method) age(factor float64) {
	m.wall.Decay(factor)
	m.cpu.Decay(factor)
	m.entry *= factor
	m.called *= factor
	m.calleeWall *= factor
	m.calleeCPU *= factor
	m.now = interval{}
}

// interval is the observation of a method in a step.
type interval struct {
	seen              bool
	calls             float64
	kept, represented float64      // records, and the calls they represent
	asked             float64      // records that the rates in force keep
	measured          WeightedSums // of the quantity that decisions use
	weight, above     float64      // of the quantity that the scorecard meters
	metered           float64      // plain records of it
	foreignRecords    float64
}

// addObservation adds an observation of the method, or of a method that shares its entry.
func (m *method) addObservation(now time.Time, s *Observation, meter string) {
	m.seen = now
	m.foreign = s.Foreign
	m.rule = s.Rule
	if s.Arrived > 0 && s.Arrived <= 1 {
		m.arrived = s.Arrived
	}
	m.wall.addValid(&s.Wall)
	m.cpu.addValid(&s.CPU)
	if validAmount(s.Entry) && validAmount(s.Called) {
		m.entry += min(s.Entry, s.Called)
		m.called += s.Called
		m.version.called += s.Called
	}
	m.version.calls += s.Calls
	if s.Wall.valid() {
		m.version.weight += s.Wall.Weight
		m.version.kept += s.Wall.Records
		m.version.represented += s.Wall.Weight
		m.now.kept += s.Wall.Records
		m.now.represented += s.Wall.Weight
	}
	if validAmount(s.Asked) {
		m.now.asked += s.Asked
	}
	if validAmount(s.CalleeWall) && validAmount(s.CalleeCPU) {
		m.calleeWall += s.CalleeWall
		m.calleeCPU += s.CalleeCPU
	}
	m.version.heard, m.version.last = true, now

	m.now.seen = true
	m.now.calls += s.Calls
	measured, metered := &s.Wall, s.Wall
	if m.cpu.Records > 0 {
		measured = &s.CPU
	}
	if meter == MeterCPU {
		metered = s.CPU
	}
	m.now.measured.addValid(measured)
	if metered.valid() && validAmount(s.Above) {
		m.now.metered += metered.Records
		m.now.weight += metered.Weight
		m.now.above += min(s.Above, metered.Weight)
	}
	if s.Foreign {
		m.now.foreignRecords += s.Wall.Records
	}
}

// leastCalls returns a lower bound of the calls in an interval: the calls that its records represent, less two
// standard errors.
func (i *interval) leastCalls() float64 {
	if i.kept <= 0 {
		return 0
	}
	return i.represented * max(0, 1-2/math.Sqrt(i.kept))
}

// uncounted reports whether no counts of the method have arrived, so that only its records are known.
func (m *method) uncounted() bool { return !m.foreign && m.calls.Seconds == 0 }

// observe updates the level of calls, if anything is known. Until its counts arrive, the records are a lower
// bound of a method's calls, and its rate does not rise.
func (m *method) observe(seconds float64) {
	m.still = false
	if m.frozen() {
		return
	}
	m.owed += m.now.calls
	if m.still = m.version.late || m.uncounted() && m.owed == 0; m.still {
		m.calls.Now = max(m.calls.Now, m.now.leastCalls()/seconds)
		m.lately = m.calls.Now
		return
	}
	m.follow()
}

// follow updates the level by the calls counted since the last update.
func (m *method) follow() {
	calls, seconds := m.owed, m.version.owed
	m.owed = 0
	scale := 1.0
	switch {
	case m.now.foreignRecords > 0 && m.now.calls > m.now.foreignRecords:
		scale = m.now.calls / m.now.foreignRecords
	case m.foreign && !m.now.seen && m.p > 0:
		scale = 1 / m.p
	}
	m.calls.observe(calls, seconds, scale, m.lately, &m.version.service.burstiness)
	m.lately = calls / seconds
}

// decision returns the decision of the step, with the method's evidence.
func (m *method) decision() Decision {
	own, name := m.measured()
	d := Decision{
		Key: m.key, Mode: m.mode, P: m.p, Class: m.class.is, Score: m.score.label, Reason: m.reason,
		Evidence: Evidence{
			State: rates.Known, CallsPerSecond: m.calls.Now, EntryShare: math.NaN(),
			Mean: own.Mean(), Spread: m.cv(), SpreadOf: name, SpreadRecords: own.Records,
		},
	}
	if m.rule != nil {
		d.Tier = m.rule.Tier
		if m.rule.CPURate > 0 { // not if it is NaN
			d.CPUP = m.rule.CPURate
		}
	}
	if m.called > 0 {
		d.EntryShare = m.entry / m.called
	}
	switch {
	case m.mode == methodfile.ModeOff:
		d.State, d.P = rates.Off, 0
	case m.key.isOverflow():
		d.State = rates.Overflow
	case own.Records < priorRecords:
		d.State = rates.Rare
	}
	return d
}
