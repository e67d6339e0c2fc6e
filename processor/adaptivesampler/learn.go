package adaptivesampler

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

const (
	// leastQ is the lowest probability used for learning. A record with a lower one would outweigh all
	// others permanently.
	leastQ = 1e-12

	// halfLife is the half-life of a method's cost and call rate in explanations. Strategies keep their own
	// history.
	halfLife = 10 * time.Minute
)

// method is the state of one method of a group.
type method struct {
	group    *group
	function methodspan.Function
	name     string // as spelled by its spans

	// These fields change only under the table's lock.
	rule      *methodfile.Rule         // nil = no entry matches
	fixed     *decision                // from the method file
	decision  *decision                // in force
	held      atomic.Pointer[decision] // a lower rate for the rest of the interval; nil = not cut by a limit
	info      decide.Evidence
	spellings int
	decided   int64 // interval of the strategy's last decision

	mu        sync.Mutex
	ours      bool       // sent by our SDK
	foreign   bool       // sent by another SDK
	used      int64      // last interval in which it was seen
	now       methodSums // of this interval
	arrived   float64
	operation string // name of its spans, if sent by another SDK
	named     int64  // interval of operation

	recent  methodSums // exponentially faded
	seconds float64
	faded   time.Time
}

// methodSums holds the sums over the spans of a method.
type methodSums struct {
	calls, kept   float64
	wall, cpu     decide.WeightedSums
	entry, called float64

	// For single calls without the tail sample: the number of records that arrived, the number of calls they
	// represent, and the number of records that the decided rates keep before a limit cuts them.
	drawn, represented, asked float64

	calleeWall, calleeCPU float64 // ns in methods it called
	above                 float64 // for the scorecard
}

// fade multiplies the sums by a factor.
func (s *methodSums) fade(by float64) {
	s.calls *= by
	s.kept *= by
	s.drawn *= by
	s.represented *= by
	s.asked *= by
	s.entry *= by
	s.called *= by
	s.above *= by
	s.calleeWall *= by
	s.calleeCPU *= by
	s.wall.Decay(by)
	s.cpu.Decay(by)
}

func (s *methodSums) addMethodSums(o *methodSums) {
	s.calls += o.calls
	s.kept += o.kept
	s.drawn += o.drawn
	s.represented += o.represented
	s.asked += o.asked
	s.entry += o.entry
	s.called += o.called
	s.above += o.above
	s.calleeWall += o.calleeWall
	s.calleeCPU += o.calleeCPU
	s.wall.Add(&o.wall)
	s.cpu.Add(&o.cpu)
}

// addRecord adds a record of weight 1/q.
func addRecord(s *decide.WeightedSums, x, weight float64) {
	s.Records++
	s.Weight += weight
	s.Sum += x * weight
	s.Squares += x * x * weight
}

// addRecords adds n records of probability q. It skips them if n > 1 and the sum of squares is missing or infinite.
func addRecords(s *decide.WeightedSums, n, sum int64, squares, q float64) {
	switch {
	case n == 1:
		squares = float64(sum) * float64(sum)
	case !(squares > 0) && sum > 0, math.IsInf(squares, 0):
		return
	}
	s.Records += float64(n)
	s.Weight += float64(n) / q
	s.Sum += float64(sum) / q
	s.Squares += squares / q
}

// learn adds a span that arrived with probability p, or 0 for a span without one.
func (t *methodTable) learn(m *method, span ptrace.Span, s *measurement, p float64, kept bool, asked float64) {
	m.mu.Lock()
	wall, cpu := m.now.wall, m.now.cpu
	m.addSpan(t.epoch, span, s, p, kept, asked)
	if t.meter != nil {
		side, before := &m.now.wall, &wall
		if t.meter.cpu {
			side, before = &m.now.cpu, &cpu
		}
		if weight := side.Weight - before.Weight; weight > 0 {
			m.now.above += weight * t.meter.heavy(s, (side.Sum-before.Sum)/weight)
		}
	}
	tookWall, tookCPU := m.now.wall.Sum-wall.Sum, m.now.cpu.Sum-cpu.Sum
	m.mu.Unlock()
	m.group.charge(s.Text(methodspan.FieldCaller), m, tookWall, tookCPU)
}

// addSpan adds a span in the interval epoch. m.mu must be held.
func (m *method) addSpan(epoch int64, span ptrace.Span, s *measurement, p float64, kept bool, asked float64) {
	m.used = epoch
	if s.foreign() {
		m.foreign = true
	} else {
		m.ours = true
	}
	switch {
	case s.kind() == methodspan.KindCounts:
		m.now.calls += max(0, s.Number(methodspan.FieldCalls))
		return
	case !(p >= leastQ):
		return
	case s.kind() == methodspan.KindAggregate:
		if s.countsItself() {
			m.now.calls += float64(s.Whole(methodspan.FieldMeasured)) / p
		}
		m.now.aggregate(s, p)
	default:
		m.call(epoch, span, s, p)
		if s.Text(methodspan.FieldStratum) == "" {
			m.now.drawn++
			m.now.represented += 1 / p
			m.now.asked += asked
		}
	}
	if s.Text(methodspan.FieldStratum) == "" {
		m.arrived = p
	}
	if kept {
		m.now.kept += float64(max(s.Whole(methodspan.FieldMeasured), 1))
	}
}

func (m *method) call(epoch int64, span ptrace.Span, s *measurement, p float64) {
	weight := 1 / p
	if s.countsItself() {
		m.now.calls += weight
	}
	if s.foreign() {
		if m.named != epoch && m.operation != span.Name() {
			m.operation = strings.Clone(span.Name())
		}
		m.named = epoch
	}
	m.now.caller(s.Text(methodspan.FieldCaller), weight)
	if start, end := span.StartTimestamp(), span.EndTimestamp(); end >= start && end <= math.MaxInt64 {
		addRecord(&m.now.wall, float64(end-start), weight)
	}
	cpu, cpuP := s.Whole(methodspan.FieldCPUTime), s.Number(methodspan.FieldCPUP)
	if q := p * cpuP; s.Good.Has(methodspan.FieldCPUTime) && cpu >= 0 && methodspan.ValidProbability(cpuP) && q >= leastQ {
		addRecord(&m.now.cpu, float64(cpu), 1/q)
	}
}

func (s *methodSums) caller(name string, weight float64) {
	if name == "" {
		return
	}
	s.called += weight
	if name == methodspan.CallerEntry {
		s.entry += weight
	}
}

// aggregate adds an aggregated span. Without a sum of squares its variance is unknown: addRecords skips it.
func (s *methodSums) aggregate(a *measurement, p float64) {
	measured, wallSum := a.Whole(methodspan.FieldMeasured), a.Whole(methodspan.FieldWallSum)
	if measured <= 0 || wallSum < 0 {
		return
	}
	s.caller(a.Text(methodspan.FieldCaller), float64(measured)/p)
	addRecords(&s.wall, measured, wallSum, a.Number(methodspan.FieldWallSquares), p)
	cpuMeasured, cpuSum, cpuP := a.Whole(methodspan.FieldCPUMeasured), a.Whole(methodspan.FieldCPUSum), a.Number(methodspan.FieldCPUP)
	if q := p * cpuP; cpuMeasured > 0 && cpuSum >= 0 && cpuP > 0 && q >= leastQ {
		addRecords(&s.cpu, cpuMeasured, cpuSum, a.Number(methodspan.FieldCPUSquares), q)
	}
}

// endInterval adds the sums of the interval to the faded ones and returns the former.
func (m *method) endInterval(now time.Time, elapsed time.Duration) (seen methodSums, arrived float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, arrived = m.now, m.arrived
	if by := math.Exp2(-now.Sub(m.faded).Seconds() / halfLife.Seconds()); by < 1 {
		m.recent.fade(by)
		m.seconds *= by
	}
	m.faded = now
	m.recent.addMethodSums(&seen)
	m.seconds += elapsed.Seconds()
	m.now = methodSums{}
	return seen, arrived
}
