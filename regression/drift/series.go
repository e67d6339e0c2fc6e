package drift

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// leastRecords is the minimum number of records for a caller to count on a day.
const leastRecords = 5

// A statistic computes the value of a day's calls from one caller, usually a logarithm, and the weight of that
// caller from its cost and its records in the window.
type statistic struct {
	value  func(r *Day, linear bool) float64
	weight func(cost, records float64) float64
}

const (
	cost int = iota
	level
	statistics
)

// byStatistic holds the two statistics. The mean cost is the amount paid. It weights a caller by the geometric mean
// of its cost (its importance) and its records (its precision). The mean logarithm is more precise, most of all
// with heavy tails. It weights a caller by its records.
var byStatistic = [statistics]statistic{
	cost: {
		value: func(r *Day, linear bool) float64 {
			if linear {
				return r.Capped / r.Weight
			}
			return math.Log(r.Capped / r.Weight)
		},
		weight: func(cost, records float64) float64 { return math.Sqrt(cost * records) },
	},
	level: {
		value:  func(r *Day, _ bool) float64 { return r.Log / r.Weight },
		weight: func(_, records float64) float64 { return records },
	},
}

// usable reports whether a row has enough records and positive sums.
func (h *History) usable(r *Day) bool {
	return r.Records >= leastRecords && r.Weight > 0 && (r.Capped > 0 || h.linear(r.Method))
}

// linear reports whether a method's values are compared by their differences.
func (h *History) linear(m int32) bool { return h.Linear != nil && h.Linear[m] }

// pair is a method and its caller.
type pair struct{ method, caller int32 }

func (r *Day) pair() pair { return pair{r.Method, r.Caller} }

// series returns the daily values of each method, adjusted for the caller mix. The value of a day is the weighted
// mean, over the callers seen, of the distance of each caller from its own mean over the window. So a change of the
// callers is not a drift. The window begins on day from, the values on day back, which can be earlier. Days without
// calls are NaN.
func (h *History) series(back, from int, s statistic) [][]float64 {
	days := h.Days - back
	type sums struct{ cost, records, values, n float64 }
	window := make(map[pair]*sums) // a map, as most pairs do not occur
	for i := range h.Rows {
		if r := &h.Rows[i]; int(r.Day) >= from && int(r.Day) < h.Days && h.usable(r) {
			w := window[r.pair()]
			if w == nil {
				w = new(sums)
				window[r.pair()] = w
			}
			w.cost += r.Capped
			w.records += r.Records
			w.values += s.value(r, h.linear(r.Method))
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
		out[r.Method][d] += weight * (s.value(r, h.linear(r.Method)) - w.values/w.n)
		weights[r.Method][d] += weight
	}
	for m := range out {
		for d := range out[m] {
			out[m][d] /= weights[m][d] // 0/0 is NaN: no calls
		}
	}
	return out
}

// removeWeekdays removes weekday effects from a series, estimated from day from on. The effect of a weekday is the
// median distance of its days from the mean of the seven days around them, so drift and slow noise do not count as
// weekday effects. Where days are missing, as at weekends, it is the distance from the median of all days. Weekdays
// are counted back from the last day, so no calendar is needed.
func removeWeekdays(y []float64, from int) {
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

// effects returns the effects of weekdays with at least two values, 0 for the others. known is false if a weekday
// has fewer.
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
