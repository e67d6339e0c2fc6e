package weights

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// enoughRecords is the minimum number of effective records of a weight cell; with fewer, a coarser
// cell is used. It is slightly less than the 20 of the rule, because the sum over records of equal
// probability has rounding errors.
const enoughRecords = 20 * (1 - 1e-9)

// Cells holds the weight cells of one method (its namespace, service, environment,
// version, class and method) on one UTC date. First add all rows of the date with Add, then get the
// weight of each row from Weigh:
//
//	N_G = sum of calls - sum over tail rows of cpu_measured / q
//	w   = N_G x (1/q) / sum over the cell of (cpu_measured / q)
//
// The weight for wall time (w_wall) uses p for q and measured for cpu_measured, with separate cells.
// A tail row has the weight 1/q, as has a row whose probabilities are final (see Final).
//
// The cell of a row is its minute, if every minute with calls of its hour holds enough records.
// Otherwise it is its hour, if every hour of the date holds enough. All other rows share one cell,
// the residual of the date. The residual also contains rollups (see Final) and records whose calls
// were not counted in these rows. If it has calls but no record, the weights of all rows outside
// it, except tail rows, are scaled up to represent these calls too. weights.sql implements the same
// rule.
//
// The zero value is ready to use.
type Cells struct {
	minutes []minuteSums // of the date
	rest    restSums     // of rollups
	cpu     cellPlan
	wall    cellPlan
	planned bool
}

const (
	nanosPerDay    = int64(24 * time.Hour)
	minutesPerHour = 60
	minutesPerDate = 24 * minutesPerHour
	nanosPerMinute = nanosPerDay / minutesPerDate
)

// minuteSums holds the sums of one minute; seen is set once it has a row.
type minuteSums struct {
	seen      bool
	calls     float64
	cpu, wall recordSums
}

// restSums holds the sums of rollups: those in the residual of the date, and the records of those
// outside it.
type restSums struct {
	cpuCalls, wallCalls float64
	cpu, wall           recordSums
	cpuHeld, wallHeld   recordSums // outside it: the weights are final
}

func (s *restSums) addRow(r *methodspan.Row, tail bool) {
	if r.Kind == methodspan.KindProcess {
		return
	}
	cpu, wall := inRest(r)
	if cpu {
		s.cpuCalls += r.Calls
		s.cpu.record(r.CPUMeasured, r.Q(), tail)
	} else {
		s.cpuHeld.record(r.CPUMeasured, r.Q(), tail)
	}
	if wall {
		s.wallCalls += r.Calls
		s.wall.record(r.Measured, r.P, tail)
	} else {
		s.wallHeld.record(r.Measured, r.P, tail)
	}
}

// recordSums holds sums over measured calls: n of 1/probability, squares of its square, and tail of
// 1/probability over tail rows, which are not in the other two.
type recordSums struct{ tail, n, squares float64 }

func (s *recordSums) addSums(o recordSums) {
	s.tail += o.tail
	s.n += o.n
	s.squares += o.squares
}

func (s *recordSums) record(measured int64, prob float64, tail bool) {
	switch {
	case prob == 0:
	case tail:
		s.tail += float64(measured) / prob
	default:
		s.n += float64(measured) / prob
		s.squares += float64(measured) / (prob * prob)
	}
}

// holds reports whether there are enough records for the calls. Without calls none are needed.
func (s recordSums) holds(calls float64) bool {
	return calls <= 0 || s.squares != 0 && s.n*s.n/s.squares >= enoughRecords
}

// lacksCalls reports whether there are records but no counted calls.
func (s recordSums) lacksCalls(calls float64) bool { return calls <= 0 && (s.n != 0 || s.tail != 0) }

// inCells reports whether a row takes part in weights.
func inCells(r *methodspan.Row) bool {
	return r.Level == methodspan.LevelRaw && (r.Kind == methodspan.KindCall || r.Kind == methodspan.KindCounts || r.Kind == methodspan.KindAggregate)
}

func minuteOf(r *methodspan.Row) int {
	ns := r.StartNS % nanosPerDay
	if ns < 0 {
		ns += nanosPerDay
	}
	return int(ns / nanosPerMinute)
}

// Reset makes the cells empty.
func (c *Cells) Reset() {
	clear(c.minutes)
	c.rest = restSums{}
	c.planned = false
}

// Add adds a row to its minute, or to the rollups.
func (c *Cells) Add(r *methodspan.Row) {
	tail := r.Stratum == methodspan.StratumTail
	if r.Level != methodspan.LevelRaw {
		c.rest.addRow(r, tail)
		return
	}
	if !inCells(r) {
		return
	}
	if c.minutes == nil {
		c.minutes = make([]minuteSums, minutesPerDate)
	}
	m := &c.minutes[minuteOf(r)]
	m.seen = true
	m.calls += r.Calls
	m.cpu.record(r.CPUMeasured, r.Q(), tail)
	m.wall.record(r.Measured, r.P, tail)
}

// Weight is the number of calls that a row represents, W for CPU time and Wall for wall time.
type Weight struct {
	W, Wall float64
	// Known is false where nothing was measured, or with an unknown probability.
	KnownW, KnownWall bool
	// Cell and CellWall are the kinds of the cells: minute, hour, date, or none for a cell
	// without a record outside the tail.
	Cell, CellWall string

	left, leftWall   bool    // the row is in the residual of the date
	scale, scaleWall float64 // factors in the weights for calls of a residual without records
}

// Kinds of cells in addition to those of a minute and an hour.
const (
	CellDate = "date"
	CellNone = "none"
	CellRest = "rest" // of rollups: the residual of the date, whose weight is not final
)

// Weigh returns the weight of a row. All rows of the date must have been added.
func (c *Cells) Weigh(r *methodspan.Row) Weight {
	if !c.planned {
		c.plan()
	}
	w := Weight{Cell: r.Level, CellWall: r.Level, scale: c.cpu.scale, scaleWall: c.wall.scale}
	cpuFactor, wallFactor := w.scale, w.scaleWall
	if r.Level == methodspan.LevelRaw {
		minute := minuteOf(r)
		if inCells(r) {
			cpuFactor, w.Cell = c.cpu.factor(minute)
			wallFactor, w.CellWall = c.wall.factor(minute)
			w.left, w.leftWall = c.cpu.cells[minute] == byDate, c.wall.cells[minute] == byDate
		} else {
			cpuFactor, wallFactor = math.NaN(), math.NaN()
			w.Cell, w.CellWall = CellNone, CellNone
		}
	}
	cpu, wall := inRest(r)
	if cpu {
		cpuFactor, w.Cell = c.cpu.restFactor()
	}
	if wall {
		wallFactor, w.CellWall = c.wall.restFactor()
	}
	if r.Stratum == methodspan.StratumTail {
		cpuFactor, wallFactor, w.scale, w.scaleWall = 1, 1, 1, 1
	}
	if r.Kind == methodspan.KindProcess && r.Level != methodspan.LevelRaw {
		cpuFactor, wallFactor = 1, 1
	}
	if r.Measured <= 0 || r.Kind != methodspan.KindCall && r.Kind != methodspan.KindAggregate {
		return w
	}
	if r.P != 0 && !math.IsNaN(wallFactor) {
		w.Wall, w.KnownWall = wallFactor/r.P, true
	}
	if r.CPUMeasured > 0 && r.Q() != 0 && !math.IsNaN(cpuFactor) {
		w.W, w.KnownW = cpuFactor/r.Q(), true
	}
	return w
}

// cellPlan holds the cell of each minute and the factor of the weights of its rows, NaN if it is
// unknown.
type cellPlan struct {
	cells   [minutesPerDate]byte
	factors [minutesPerDate]float64
	rest    float64 // factor of the residual of the date
	scale   float64 // factor of all other cells if the residual has calls and no record, else 1
}

const (
	byMinute = iota
	byHour
	byDate
)

func (p *cellPlan) factor(minute int) (float64, string) {
	f := p.factors[minute]
	switch {
	case math.IsNaN(f) && p.scale == 1:
		return f, CellNone
	case p.cells[minute] == byMinute:
		return f * p.scale, methodspan.LevelMinute
	case p.cells[minute] == byHour:
		return f * p.scale, methodspan.LevelHour
	}
	return f, CellDate
}

func (p *cellPlan) restFactor() (float64, string) {
	if math.IsNaN(p.rest) && p.scale == 1 {
		return p.rest, CellNone
	}
	return p.rest, CellDate
}

func (c *Cells) plan() {
	c.planned = true
	if c.minutes == nil {
		c.minutes = make([]minuteSums, minutesPerDate)
	}
	c.cpu.make(c.minutes, c.rest.cpuCalls, c.rest.cpuHeld.n, c.rest.cpu, func(m *minuteSums) recordSums { return m.cpu })
	c.wall.make(c.minutes, c.rest.wallCalls, c.rest.wallHeld.n, c.rest.wall, func(m *minuteSums) recordSums { return m.wall })
}

// ratio returns the calls outside the tail per unit of s.n, NaN if s.n is 0.
func ratio(calls float64, s recordSums) float64 {
	if s.n == 0 {
		return math.NaN()
	}
	return (calls - s.tail) / s.n
}

// make plans the cells. callsLeft and left are the calls and records of rollups in the residual of
// the date; held is the number of calls that the other rollups represent.
func (p *cellPlan) make(minutes []minuteSums, callsLeft, held float64, left recordSums, side func(*minuteSums) recordSums) {
	const hours = minutesPerDate / minutesPerHour
	var hourSums [hours]recordSums
	var hourCalls [hours]float64
	var minutesHold [hours]bool
	hoursHold := true
	for h := range hours {
		minutesHold[h] = true
		for i := range minutesPerHour {
			m := &minutes[h*minutesPerHour+i]
			if !m.seen {
				continue
			}
			s := side(m)
			hourSums[h].addSums(s)
			hourCalls[h] += m.calls
			minutesHold[h] = minutesHold[h] && s.holds(m.calls) && !s.lacksCalls(m.calls)
		}
		hoursHold = hoursHold && hourSums[h].holds(hourCalls[h])
	}
	var cells [hours]byte
	for h := range hours {
		switch {
		case minutesHold[h]:
			cells[h] = byMinute
		case hoursHold && hourCalls[h] > 0:
			cells[h] = byHour
		default:
			cells[h] = byDate
			left.addSums(hourSums[h])
			callsLeft += hourCalls[h]
			continue
		}
		held += hourCalls[h] - hourSums[h].tail
	}
	p.rest, p.scale = ratio(callsLeft, left), 1
	if counted := callsLeft - left.tail; left.n == 0 && counted > 0 && held > 0 {
		p.scale = 1 + counted/held
	}
	for i := range minutes {
		h := i / minutesPerHour
		p.cells[i] = cells[h]
		switch cells[h] {
		case byMinute:
			p.factors[i] = ratio(minutes[i].calls, side(&minutes[i]))
		case byHour:
			p.factors[i] = ratio(hourCalls[h], hourSums[h])
		case byDate:
			p.factors[i] = p.rest
		}
	}
}
