package sim

import (
	"math"
	"slices"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Day is the result of a strategy on one ordinary day.
type Day struct {
	TotalError float64 // relative standard error of the cost of all methods
	TopShare   float64 // of the most expensive tenth, the part known to 2%
	Records    float64
	Floor      float64 // part of the methods that have the floor, or all their calls
	Worst      float64 // the minute with the most records, relative to what is allowed
}

// budgetOf returns the configured strategy with the design's budget for so many
// methods.
func budgetOf(methods int) (decide.Config, float64) {
	cfg := decide.DefaultConfig()
	perDay := recordsPerDay * float64(methods) / designSize
	cfg.Budget.RecordsPerSecond = perDay / (24 * 60 * 60)
	return cfg, perDay / minutesPerDay
}

// allowed returns how many records a minute may have: a tenth above the budget, and
// chance.
func allowed(budget float64) float64 { return budget * (1.1 + 4/math.Sqrt(budget)) }

// OneDay learns for some minutes and evaluates the day after.
func OneDay(methods []*Method, stepper Stepper, budget, floor float64, learning int, seed uint64) Day {
	w := NewWorld(methods, stepper, seed)
	for range learning {
		w.Pass(diurnal)
	}
	w.Reset()
	var day Day
	for range minutesPerDay {
		passed := w.Pass(diurnal)
		day.Records += passed.Records
		day.Worst = max(day.Worst, passed.Records/allowed(budget))
	}
	day.judge(w, floor)
	return day
}

func (d *Day) judge(w *World, floor float64) {
	byCost := slices.Clone(w.Methods)
	cost := func(m *Method) float64 { return w.Tally(m).Calls * m.Mean }
	slices.SortFunc(byCost, func(a, b *Method) int {
		if cost(a) > cost(b) {
			return -1
		}
		return 1
	})
	var total, variance float64
	top, known, floored := len(byCost)/10, 0, 0
	for i, m := range byCost {
		t := w.Tally(m)
		relative := 1.0 // nothing is known without a record
		if t.Records > 0 {
			relative = m.Spread * math.Sqrt(t.Lost) / t.Weights
		}
		total += cost(m)
		variance += math.Pow(relative*cost(m), 2)
		if i < top && relative <= 0.02 {
			known++
		}
		// Four standard deviations: in 2,000 methods chance takes no more. A pin of the
		// method file is no promise of a floor.
		if want := min(floor, t.Calls); m.Rule != nil || t.Records >= want-4*math.Sqrt(want) {
			floored++
		}
	}
	d.TotalError = math.Sqrt(variance) / total
	d.TopShare = float64(known) / float64(top)
	d.Floor = float64(floored) / float64(len(byCost))
}
