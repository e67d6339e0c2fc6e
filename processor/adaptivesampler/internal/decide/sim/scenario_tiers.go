package sim

import (
	"math"
	"slices"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Tiered is the result of the strategy tiers for steps, waves and a deployment.
type Tiered struct {
	Turns   float64 // of a rate per method and hour, at rest and from the 11th interval after a change on
	Returns float64 // of a method to a class that it had left within half an hour
	Pins    float64 // part of the checks of pinned methods that found their rate
	Floor   float64 // part of the methods that have the floor in a day of waves, or all their calls
	Settled float64 // part of the methods at the rate that is meant for them an hour after the last change
}

// fixedRate returns the rule of a method file with a rate and without bounds.
func fixedRate(rate float64) *methodfile.Rule {
	return &methodfile.Rule{Rate: rate, Explicit: true, Max: 1, CPURate: math.NaN(), Mode: methodfile.ModeSample}
}

// setEntryShares sets the data from which classes are learned. Of each eight methods one is an entry, one stands at the
// threshold and one between the two.
func setEntryShares(methods []*Method) {
	for i, m := range methods {
		m.Entry = [8]float64{0.9, 0.5, 0.3, 0.05, 0.05, 0.05, 0.05, 0}[i%8]
	}
}

// placed enters methods and pins some.
func withEntryShares(methods []*Method) []*Method {
	setEntryShares(methods)
	for i, m := range methods {
		if i%20 == 6 {
			m.Rule = fixedRate(0.02)
		}
	}
	return methods
}

// Tier runs a service through everything.
func Tier(size int, seed uint64) Tiered {
	cfg := decide.DefaultConfig()
	cfg.Strategy = decide.StrategyTiers
	w := NewWorld(withEntryShares(Population(seed, size, decide.Group{Service: "shop", Version: "1"})), decide.New(cfg), seed)
	watch := watcher{classes: make(map[decide.Key]*passage)}
	watch.pass(w, steady, settled, settled)
	watch.pass(w, diurnal, minutesPerDay, minutesPerDay) // levels of a day are learned
	w.Reset()
	watch.pass(w, diurnal, minutesPerDay, 0)
	var day Day
	day.judge(w, cfg.FloorRecordsPerDay)
	for _, load := range []Load{steady, times(100), steady, times(0.01), steady} {
		watch.pass(w, load, watched, 10)
	}

	old := slices.Clone(w.Methods)
	for _, m := range old {
		w.Add([]*Method{m.inVersion(decide.Group{Service: "shop", Version: "2"}, 1, 1.05)})
	}
	watch.pass(w, func(m *Method, _ int) float64 {
		if m.Key.Version == "2" {
			return canary
		}
		return 1 - canary
	}, int(cfg.Boost.Deadline.Minutes())+watched, 10)
	return Tiered{
		Turns:   watch.rate(),
		Returns: watch.returns / watch.hours,
		Pins:    float64(watch.held) / float64(watch.pinned),
		Floor:   day.Floor,
		Settled: shareAtClassRate(w, &cfg),
	}
}

// shareAtClassRate returns the part of the methods with the rate of their class, or the floor if that is higher.
func shareAtClassRate(w *World, cfg *decide.Config) float64 {
	n := 0
	for _, m := range w.Methods {
		d := w.Decision(m)
		rate := map[string]float64{decide.ClassEntry: cfg.Classes.EntryRate, decide.ClassMid: cfg.Classes.MidRate, decide.ClassInner: cfg.Classes.InnerRate}[d.Class]
		if m.Rule != nil {
			rate = m.Rule.Rate
		}
		if d.P >= rate*(1-turnedBy) {
			n++
		}
	}
	return float64(n) / float64(len(w.Methods))
}

// watcher observes a world after each minute.
type watcher struct {
	turned       int // turns of rates
	classes      map[decide.Key]*passage
	returns      float64
	hours        float64 // of methods
	pinned, held int
}

// passage is a method's way from class to class.
type passage struct {
	is   string
	left map[string]int // when
}

// pass lets minutes pass and counts turns from one of them on.
func (c *watcher) pass(w *World, load Load, minutes, from int) {
	var turns turns // a change of the load is no turn
	for i := range minutes {
		w.Pass(load)
		if i >= from {
			turns.observe(w)
			c.hours += float64(len(w.Methods)) / 60
		}
		for _, m := range w.Methods {
			c.observe(w, m)
		}
	}
	c.turned += turns.all()
}

func (c *watcher) observe(w *World, m *Method) {
	d := w.Decision(m)
	if m.Rule != nil && d.P > 0 {
		c.pinned++
		if d.P == m.Rule.Rate {
			c.held++
		}
	}
	p, ok := c.classes[m.Key]
	if !ok {
		p = &passage{left: make(map[string]int)}
		c.classes[m.Key] = p
	}
	if d.Class == p.is || d.Class == "" {
		return
	}
	if left, ok := p.left[d.Class]; ok && w.Minute-left < watched/2 {
		c.returns++
	}
	p.left[p.is], p.is = w.Minute, d.Class
}

func (c *watcher) rate() float64 { return float64(c.turned) / c.hours }
