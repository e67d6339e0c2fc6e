package sim

import (
	"math"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// settled is how long a world runs before something happens to it, and watched
// for how long it is looked at after that, in minutes.
const (
	settled = 2 * 60
	watched = 60
)

// After is what comes of a change of the load.
type After struct {
	TooMany int     // the last interval with more records than allowed, counted from 1; 0 = none
	Spent   int     // the first interval in which 90% of the budget is spent
	Later   float64 // part of the budget spent from the 11th interval on
	Most    float64 // the interval with the most records from the 11th on, beside what is allowed
	Turns   float64 // turns per method and hour, from the 11th interval on
}

// Change watches what a change of the load does.
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
			turns.look(w)
		}
	}
	after.Turns = turns.perHour()
	return after
}

// times is a load that is so many times the average.
func times(factor float64) Load { return func(*Method, int) float64 { return factor } }

// Rest is a steady load and how much the rates move under it.
func Rest(w *World, minutes int) (turnsPerHour float64) {
	var turns turns
	for range minutes {
		w.Pass(steady)
		turns.look(w)
	}
	return turns.perHour()
}

// turns counts how often rates turn round: a rate that has moved by more than a
// tenth one way, and then by more than a tenth of its value the other way, has
// turned once.
type turns struct {
	zigzags []zigzag
	looks   int
	count   int
}

const turnedBy = 0.1

type zigzag struct {
	way       int // +1 rising, -1 falling, 0 = not known yet
	low, high float64
}

func (t *turns) look(w *World) {
	if t.zigzags == nil {
		t.zigzags = make([]zigzag, len(w.Methods))
	}
	t.looks++
	for i, rate := range w.rates {
		t.count += t.zigzags[i].next(rate.next)
	}
}

func (t *turns) perHour() float64 {
	return float64(t.count) / float64(len(t.zigzags)) / (float64(t.looks) / 60)
}

// next follows a rate and returns 1 if it has turned.
func (z *zigzag) next(rate float64) int {
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
	turned := z.way != 0 && way != z.way
	z.way = way
	if turned {
		return 1
	}
	return 0
}

// settledWorld has run under its ordinary load.
func settledWorld(size int, cfg decide.Config, seed uint64) *World {
	w := NewWorld(Population(seed, size, decide.Group{Service: "shop", Version: "1"}), decide.New(cfg), seed)
	for range settled {
		w.Pass(steady)
	}
	return w
}
