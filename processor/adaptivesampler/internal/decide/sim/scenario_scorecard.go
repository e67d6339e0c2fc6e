package sim

import (
	"math"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Scored is the result of the scorecard for methods whose worth is known.
type Scored struct {
	Off      [2]float64 // part of the calls of cheap methods that have no probe, by day
	Wrong    float64    // part of the methods worth a probe that were ever off
	Heavy    float64    // part of them that are hotspots or unmanaged after two days
	Back     float64    // part of the cheap ones that became expensive and are on again
	Pins     float64    // part of the checks of pinned cheap methods that found them on
	Switches float64    // changes of a mode per method and hour of the second day
	Counted  float64    // calls that records stand for by those that were counted, less 1
}

// Kinds of methods. A wrapper takes 20 us a call, of which its callee takes 19: +1 and -2. A growing method is cheap
// for half a day and then expensive.
const (
	expensive = iota
	cheap
	wrapper
	callee
	grows
	pinnedCheap
	kinds
)

const (
	growsAfter = minutesPerDay / 2
	scoredFor  = 2 * minutesPerDay
)

// Score runs methods of each kind for two days, each called 500 to 100,000 times
// a minute.
func Score(size int, seed uint64) Scored {
	cfg, _ := budgetOf(size)
	cfg.Scorecard.Enabled = true
	size -= size % kinds
	methods := Population(seed, size, decide.Group{Service: "shop", Version: "1"})
	for i, m := range methods {
		m.Calls = math.Pow(10, 2.7+2.3*float64(i/kinds)/float64(size/kinds))
		m.become([kinds]float64{100e3, 1e3, 20e3, 19e3, 1e3, 1e3}[i%kinds])
		switch i % kinds {
		case callee:
			m.Caller = methods[i-1]
		case pinnedCheap:
			m.Rule = fixedRate(2e-5)
		}
	}
	w := NewWorld(methods, decide.New(cfg), seed)
	var s Scored
	each := float64(size / kinds)
	pins, switches, wrongs, heavy, back := 0, 0, 0, 0, 0
	wrong := make(map[*Method]bool)
	modes := make(map[*Method]methodfile.Mode)
	for minute := range scoredFor {
		for i, m := range methods {
			if minute == growsAfter && i%kinds == grows {
				m.become(100e3)
			}
		}
		if minute == minutesPerDay {
			s.Off[0] = unprobed(w)
			w.Reset()
		}
		w.Pass(diurnal)
		for i, m := range methods {
			d := w.Decision(m)
			switch i % kinds {
			case expensive, callee:
				wrong[m] = wrong[m] || d.Mode == methodfile.ModeOff
			case pinnedCheap:
				if d.P == m.Rule.Rate {
					pins++
				}
			}
			if minute >= minutesPerDay && modes[m] != d.Mode {
				switches++
			}
			modes[m] = d.Mode
		}
	}
	var calls, stood float64
	for i, m := range methods {
		t, d := w.Tally(m), w.Decision(m)
		calls += t.Calls
		stood += t.Weights
		switch i % kinds {
		case expensive, callee:
			if d.Score == decide.ScoreHotspot || d.Score == decide.ScoreUnmanaged {
				heavy++
			}
			if wrong[m] {
				wrongs++
			}
		case grows:
			if d.Mode == methodfile.ModeSample && d.Score != decide.ScoreOff {
				back++
			}
		}
	}
	s.Off[1], s.Counted = unprobed(w), stood/calls-1
	s.Wrong, s.Heavy, s.Back = float64(wrongs)/(2*each), float64(heavy)/(2*each), float64(back)/each
	s.Pins, s.Switches = float64(pins)/each/scoredFor, float64(switches)/float64(size)/24
	return s
}

// unprobed returns the part of the calls of cheap methods that ran while they were off,
// since the last reset.
func unprobed(w *World) float64 {
	var off, all float64
	for i, m := range w.Methods {
		if kind := i % kinds; kind == cheap || kind == wrapper {
			off += m.Calls * w.Tally(m).Off
			all += m.Calls * minutesPerDay
		}
	}
	return off / all
}

// become gives the method another mean, and calls that differ little.
func (m *Method) become(mean float64) {
	m.Mean, m.Spread = mean, 0.3
	m.values = lognormalOf(m.Mean, m.Spread)
}
