package drift

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// leastRecords a caller needs on a day to be part of it.
const leastRecords = 5

// A statistic is what a day's calls from one caller say, as a logarithm, and what that
// caller counts for, by its cost and its records in the window.
type statistic struct {
	of     func(r *Day, linear bool) float64
	weight func(cost, records float64) float64
}

const (
	cost int = iota
	level
	statistics
)

// The mean cost is what is paid; a caller's weight is the geometric mean of its cost,
// which says what it matters, and its records, which say how well it is known. The mean
// logarithm is known better, most of all under heavy tails, and best where each record
// counts alike.
var byStatistic = [statistics]statistic{
	cost: {
		of: func(r *Day, linear bool) float64 {
			if linear {
				return r.Capped / r.Weight
			}
			return math.Log(r.Capped / r.Weight)
		},
		weight: func(cost, records float64) float64 { return math.Sqrt(cost * records) },
	},
	level: {
		of:     func(r *Day, _ bool) float64 { return r.Log / r.Weight },
		weight: func(_, records float64) float64 { return records },
	},
}

// usable says whether a caller was seen well enough on a day.
func (h *History) usable(r *Day) bool {
	return r.Records >= leastRecords && r.Weight > 0 && (r.Capped > 0 || h.linear(r.Method))
}

// linear reports whether a method's values are compared by their differences.
func (h *History) linear(m int32) bool { return h.Linear != nil && h.Linear[m] }

// pair is a method and one that calls it.
type pair struct{ method, caller int32 }

func (r *Day) pair() pair { return pair{r.Method, r.Caller} }

// series are the daily values of each method, callers being equal: on each day the
// mean, over the callers seen, of how far each is from its own mean over the
// window, which begins on day from. So a change of who calls is no drift. The values
// begin on day back, which may be before. NaN where nothing was seen.
func (h *History) series(back, from int, s statistic) [][]float64 {
	days := h.Days - back
	type sums struct{ cost, records, values, n float64 }
	window := make(map[pair]*sums) // few methods are called by many
	for i := range h.Rows {
		if r := &h.Rows[i]; int(r.Day) >= from && int(r.Day) < h.Days && h.usable(r) {
			w := window[r.pair()]
			if w == nil {
				w = new(sums)
				window[r.pair()] = w
			}
			w.cost += r.Capped
			w.records += r.Records
			w.values += s.of(r, h.linear(r.Method))
			w.n++
		}
	}
	out := make([][]float64, len(h.Methods))
	weights := make([][]float64, len(h.Methods))
	for m := range out {
		out[m], weights[m] = make([]float64, days), make([]float64, days)
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		if int(r.Day) < back || int(r.Day) >= h.Days || !h.usable(r) {
			continue
		}
		w := window[r.pair()]
		if w == nil {
			continue
		}
		d, weight := int(r.Day)-back, 1.0
		if !h.linear(r.Method) {
			weight = s.weight(w.cost, w.records)
		}
		out[r.Method][d] += weight * (s.of(r, h.linear(r.Method)) - w.values/w.n)
		weights[r.Method][d] += weight
	}
	for m := range out {
		for d := range out[m] {
			out[m][d] /= weights[m][d] // 0/0 is NaN
		}
	}
	return out
}

// takeWeekdays removes from a series what its weekdays differ by in the days from from
// on: the median, by weekday, of how far a day is from the mean of the seven days around
// it, so that neither a drift nor slow noise is taken for a weekday. Where days are
// missing, as at weekends, it is how far a day is from the median of all. Weekdays are
// counted back from the last day, so what they are called has no part in it.
func takeWeekdays(y []float64, from int) {
	around := func(d int) float64 {
		mean := math.NaN()
		if d >= from+3 && d+3 < len(y) {
			mean = 0
			for _, v := range y[d-3 : d+4] {
				mean += v / 7
			}
		}
		return mean
	}
	all := medianOf(y[from:])
	effect, known := effects(y, from, around)
	if !known {
		effect, _ = effects(y, from, func(int) float64 { return all })
	}
	for d := range y {
		y[d] -= effect[(len(y)-1-d)%7]
	}
}

// effects of weekdays with two values or more, 0 of the others; known is false if there
// are any of these.
func effects(y []float64, from int, level func(day int) float64) (effect [7]float64, known bool) {
	var by [7][]float64
	for d := from; d < len(y); d++ {
		if v := y[d] - level(d); !math.IsNaN(v) {
			w := (len(y) - 1 - d) % 7
			by[w] = append(by[w], v)
		}
	}
	known = true
	mean, n := 0.0, 0.0
	for w := range by {
		if len(by[w]) < 2 {
			known = false
			continue
		}
		effect[w] = stats.Median(by[w])
		mean, n = mean+effect[w], n+1
	}
	for w := range by {
		if len(by[w]) >= 2 {
			effect[w] -= mean / n
		}
	}
	return effect, known
}
