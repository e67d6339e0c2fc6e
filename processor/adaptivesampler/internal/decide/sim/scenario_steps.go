package sim

import (
	"math"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// settled is the time for which a world runs before an event, and watched the time after it, in minutes.
const (
	settled = 2 * 60
	watched = 60
)

// After is the result of a change of the load.
type After struct {
	TooMany int     // the last interval with more records than allowed, counted from 1; 0 = none
	Spent   int     // the first interval in which 90% of the budget is spent
	Later   float64 // part of the budget spent from the 11th interval on
	Most    float64 // the interval with the most records from the 11th on, relative to what is allowed
	Turns   float64 // turns per method and hour, from the 11th interval on
}

// Change observes the effect of a change of the load.
func Change(w *World, budget float64, load Load) After {
	after := After{Spent: watched + 1}
	var turns turns
	for i := 1; i <= watched; i++ {
		passed := w.Pass(load)
		if passed.Records > allowed(budget) {
			after.TooMany = i
		}
		if passed.Records >= 0.9*budget {
			after.Spent = min(after.Spent, i)
		}
		if i > 10 {
			after.Later += passed.Records / budget / (watched - 10)
			after.Most = max(after.Most, passed.Records/allowed(budget))
			turns.observe(w)
		}
	}
	after.Turns = turns.perHour()
	return after
}

// times returns a load that is so many times the average.
func times(factor float64) Load { return func(*Method, int) float64 { return factor } }

// Rest returns a steady load and how much the rates move under it: turns per method and hour, and
// the part of the hours of a method in which its rate turned more than once.
func Rest(w *World, hours int) (perHour, often float64) {
	var turns turns
	many := 0
	for range hours {
		before := turns.counts()
		for range 60 {
			w.Pass(steady)
			turns.observe(w)
		}
		for i, z := range turns.zigzags {
			if before == nil && z.turns > 1 || before != nil && z.turns-before[i] > 1 {
				many++
			}
		}
	}
	return turns.perHour(), float64(many) / float64(hours*len(w.Methods))
}

// turns counts how often rates turn round: a rate that has moved by more than a
// tenth one way, and then by more than a tenth of its value the other way, has
// turned once.
type turns struct {
	zigzags      []zigzag
	observations int
}

const turnedBy = 0.1

type zigzag struct {
	way       int // +1 rising, -1 falling, 0 = not known yet
	low, high float64
	turns     int
}

func (t *turns) observe(w *World) {
	if t.zigzags == nil {
		t.zigzags = make([]zigzag, len(w.Methods))
	}
	t.observations++
	for i, rate := range w.rates {
		t.zigzags[i].next(rate.next)
	}
}

// counts returns the turns of each method so far.
func (t *turns) counts() []int {
	var all []int
	for _, z := range t.zigzags {
		all = append(all, z.turns)
	}
	return all
}

func (t *turns) all() (n int) {
	for _, z := range t.zigzags {
		n += z.turns
	}
	return n
}

func (t *turns) perHour() float64 {
	return float64(t.all()) / float64(len(t.zigzags)) / (float64(t.observations) / 60)
}

// next follows a rate.
func (z *zigzag) next(rate float64) {
	if z.low == 0 {
		z.low, z.high = rate, rate
	}
	z.low, z.high = math.Min(z.low, rate), math.Max(z.high, rate)
	way := z.way
	switch {
	case z.way <= 0 && rate > z.low*(1+turnedBy):
		way, z.high = 1, rate
	case z.way >= 0 && rate < z.high*(1-turnedBy):
		way, z.low = -1, rate
	}
	if z.way != 0 && way != z.way {
		z.turns++
	}
	z.way = way
}

// settledWorld has run under its ordinary load for so many minutes.
func settledWorld(size int, cfg decide.Config, minutes int, bunch float64, seed uint64) *World {
	w := NewWorld(Population(seed, size, decide.Group{Service: "shop", Version: "1"}), decide.New(cfg), seed)
	w.Bunch = bunch
	for range minutes {
		w.Pass(steady)
	}
	return w
}
