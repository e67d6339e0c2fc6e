package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Stepper decides rates: a strategy of package decide, or a peer.
type Stepper interface {
	Step(now time.Time, seen []decide.Observation) []decide.Decision
}

// Load is the frequency of a method's calls in a minute, relative to its average.
type Load func(m *Method, minute int) float64

// steady returns the same load at all times.
func steady(*Method, int) float64 { return 1 }

// diurnal returns a daily wave between a half and one and a half.
func diurnal(m *Method, minute int) float64 {
	return 1 + 0.5*math.Sin(2*math.Pi*float64(minute)/minutesPerDay+m.Phase)
}

// World is a set of services, their Stepper, and a clock.
type World struct {
	Methods []*Method
	Stepper Stepper
	Minute  int
	Bunch   float64 // how many calls come at a time

	random  *rand.Rand
	index   map[decide.Key]int
	rates   []inForce // by place in Methods, as the tallies
	tallies []Tally
	callees []float64 // ns in methods that each called, of this minute
	seen    []decide.Observation
	last    map[decide.Key]decide.Decision
}

// inForce are the rates of a method: the current one, and the decided one that processes do not have yet.
type inForce struct{ now, next float64 }

// Tally holds the kept records of a method, and its calls while it was on.
type Tally struct {
	Calls, Records float64
	Weights        float64 // sum of 1/p
	Lost           float64 // sum of (1/p)(1/p - 1): the variance of a total is made of it
	Off            float64 // minutes in which it was off
}

// Passed is the result of a minute.
type Passed struct{ Calls, Records float64 }

// coldStart is the rate of methods without a decision.
const coldStart = 0.01

// NewWorld starts with no rate decided.
func NewWorld(methods []*Method, stepper Stepper, seed uint64) *World {
	w := &World{Stepper: stepper, Bunch: 1, random: newRandom(seed, 2), index: make(map[decide.Key]int), last: make(map[decide.Key]decide.Decision)}
	w.Add(methods)
	return w
}

// Add starts processes of other methods.
func (w *World) Add(methods []*Method) {
	for _, m := range methods {
		w.index[m.Key] = len(w.Methods)
		w.Methods = append(w.Methods, m)
		w.rates = append(w.rates, inForce{coldStart, coldStart})
		w.tallies = append(w.tallies, Tally{})
		w.callees = append(w.callees, 0)
	}
}

// Reset forgets the tallies.
func (w *World) Reset() { clear(w.tallies) }

// Tally of a method since the last reset.
func (w *World) Tally(m *Method) *Tally { return &w.tallies[w.index[m.Key]] }

// Rate in force of a method.
func (w *World) Rate(m *Method) float64 { return w.rates[w.index[m.Key]].now }

var start = time.Unix(1_800_000_000, 0)

// threshold is the time in ns from which a call is heavy for the scorecard.
var threshold = float64(decide.DefaultConfig().Scorecard.Inclusive.Threshold)

// Pass lets a minute pass and the stepper decide. A method that is off does not
// even count its calls.
func (w *World) Pass(load Load) Passed {
	var passed Passed
	w.seen = w.seen[:0]
	clear(w.callees)
	for i, m := range w.Methods {
		rate := &w.rates[i]
		calls := w.Bunch * poisson(w.random, m.Calls*load(m, w.Minute)/w.Bunch)
		early := math.Round(calls / 2)
		s := decide.Observation{Key: m.Key, Rule: m.Rule}
		w.keep(i, &s, early, rate.now)
		w.keep(i, &s, calls-early, rate.next)
		if rate.now == 0 {
			w.tallies[i].Off++
		}
		if s.Calls > 0 {
			s.CPU = s.Wall
			s.Called = s.Wall.Weight
			w.tallies[i].Calls += s.Calls
			passed.Calls += s.Calls
			passed.Records += s.Wall.Records
			w.seen = append(w.seen, s)
		}
		rate.now = rate.next
	}
	for i := range w.seen {
		callees := w.callees[w.index[w.seen[i].Key]]
		w.seen[i].CalleeWall, w.seen[i].CalleeCPU = callees, callees
	}
	w.Minute++
	decisions := w.Stepper.Step(start.Add(time.Duration(w.Minute)*time.Minute), w.seen)
	clear(w.last)
	for _, d := range decisions {
		if i, ok := w.index[d.Key]; ok {
			w.last[d.Key] = d
			w.rates[i].next = d.P
			if d.Mode == methodfile.ModeOff {
				w.rates[i].next = 0
			}
		}
	}
	return passed
}

// Decision returns the last one about a method.
func (w *World) Decision(m *Method) decide.Decision { return w.last[m.Key] }

// keep counts the calls, and draws which of them are kept and their times.
func (w *World) keep(i int, s *decide.Observation, calls, p float64) {
	if p == 0 {
		return
	}
	s.Calls += calls
	n := binomial(w.random, calls, p)
	if n == 0 {
		return
	}
	weight := 1 / p
	m := w.Methods[i]
	took := 0.0
	for range int(n) {
		x := m.values.draw(w.random)
		took += x * weight
		s.Wall.Squares += x * x * weight
		if x >= threshold {
			s.Above += weight
		}
	}
	s.Wall.Sum += took
	if m.Caller != nil {
		w.callees[w.index[m.Caller.Key]] += took
	}
	if m.Entry > 0 {
		s.Entry += binomial(w.random, n, m.Entry) * weight
	}
	s.Wall.Records += n
	s.Wall.Weight += n * weight
	s.Arrived = p
	s.Asked += n
	t := &w.tallies[i]
	t.Records += n
	t.Weights += n * weight
	t.Lost += n * weight * (weight - 1)
}
