package drift

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// leastRecords a caller needs on a day to be part of it.
const leastRecords = 5

// commonMethods is the number of methods from which a day's common mode is taken:
// the median of fewer would be the change of one of them.
const commonMethods = 5

// A statistic is what a day's calls from one caller say, as a logarithm, and what that
// caller counts for, by its cost and its records in the window.
type statistic struct {
	of     func(*Day) float64
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
		of:     func(r *Day) float64 { return math.Log(r.Capped / r.Weight) },
		weight: func(cost, records float64) float64 { return math.Sqrt(cost * records) },
	},
	level: {
		of:     func(r *Day) float64 { return r.Log / r.Weight },
		weight: func(_, records float64) float64 { return records },
	},
}

// usable says whether a caller was seen well enough on a day.
func (r *Day) usable() bool { return r.Records >= leastRecords && r.Weight > 0 && r.Capped > 0 }

// pair is a method and one that calls it.
type pair struct{ method, caller int32 }

func (r *Day) pair() pair { return pair{r.Method, r.Caller} }

// series are the daily values of each method, callers being equal: on each day the
// mean, over the callers seen, of how far each is from its own mean over the
// window. So a change of who calls is no drift. NaN where nothing was seen.
func (h *History) series(from int, s statistic) [][]float64 {
	days := h.Days - from
	type sums struct{ cost, records, values, n float64 }
	window := make(map[pair]*sums) // few methods are called by many
	use := func(r *Day) bool {
		return int(r.Day) >= from && int(r.Day) < h.Days && r.usable()
	}
	for i := range h.Rows {
		if r := &h.Rows[i]; use(r) {
			w := window[r.pair()]
			if w == nil {
				w = new(sums)
				window[r.pair()] = w
			}
			w.cost += r.Capped
			w.records += r.Records
			w.values += s.of(r)
			w.n++
		}
	}
	out := make([][]float64, len(h.Methods))
	weights := make([][]float64, len(h.Methods))
	for m := range out {
		out[m], weights[m] = make([]float64, days), make([]float64, days)
	}
	for i := range h.Rows {
		if r := &h.Rows[i]; use(r) {
			w := window[r.pair()]
			d := int(r.Day) - from
			weight := s.weight(w.cost, w.records)
			out[r.Method][d] += weight * (s.of(r) - w.values/w.n)
			weights[r.Method][d] += weight
		}
	}
	for m := range out {
		for d := range out[m] {
			out[m][d] /= weights[m][d] // 0/0 is NaN
		}
	}
	return out
}

// takeCommon removes from all series what all methods share on a day, their median,
// and returns it: a series of its own, the whole service's.
func takeCommon(series [][]float64, days int) []float64 {
	common := make([]float64, days)
	values := make([]float64, 0, len(series))
	for d := range common {
		values = values[:0]
		for _, y := range series {
			if !math.IsNaN(y[d]) {
				values = append(values, y[d])
			}
		}
		if len(values) < commonMethods {
			continue
		}
		common[d] = stats.Median(values)
		for _, y := range series {
			y[d] -= common[d]
		}
	}
	return common
}

// takeWeekdays removes from a series what its weekdays differ by, and leaves out
// days without a value.
func takeWeekdays(y []float64, weekday int) (values []float64, days []int) {
	var by [7][]float64
	for d, v := range y {
		if !math.IsNaN(v) {
			values = append(values, v)
			days = append(days, d)
			w := (weekday + d) % 7
			by[w] = append(by[w], v)
		}
	}
	whole := stats.Median(values)
	var median [7]float64
	for w := range by {
		if len(by[w]) >= 3 {
			median[w] = stats.Median(by[w]) - whole
		}
	}
	for i, d := range days {
		values[i] -= median[(weekday+d)%7]
	}
	return values, days
}
