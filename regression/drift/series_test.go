package drift

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// A service with many methods has many callers, but few pairs of them. The memory of series depends on the rows
// and not on the number of possible pairs.
func TestSeries_MemoryBoundedByPairs(t *testing.T) {
	const n, days = 3000, 3
	h := &History{Methods: make([]string, n), Callers: make([]string, n), Days: days}
	for m := range int32(n) {
		for d := range int32(days) {
			h.Rows = append(h.Rows, Day{Method: m, Caller: (m + 1) % n, Day: d, Records: 10, Weight: 10, Capped: 1000, Log: 40})
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.series(0, 0, byStatistic[cost])
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("%d rows of %d pairs took %d MiB", len(h.Rows), n, took>>20)
	}
}

// The sums of each method and caller do not depend on the order of the rows.
func TestSeries_AnyRowOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const methods, callers, days, from = 7, 5, 20, 4
	h := &History{Methods: make([]string, methods), Callers: make([]string, callers), Days: days}
	for range 600 {
		h.Rows = append(h.Rows, Day{
			Method: r.Int32N(methods), Caller: r.Int32N(callers), Day: r.Int32N(days + 3),
			Records: float64(r.IntN(30)), Weight: float64(r.IntN(100)), Capped: 1e6 * r.Float64(), Log: 100 * r.Float64(),
		})
	}
	for i, s := range byStatistic {
		got := h.series(from, from, s)
		for m := range int32(methods) {
			for d := range int32(days - from) {
				var sum, weights float64
				for _, row := range h.Rows {
					if row.Method == m && row.Day == d+from && h.usable(&row) {
						w, mean := h.inWindow(row.pair(), from, s)
						sum += w * (s.value(&row, false) - mean)
						weights += w
					}
				}
				want := sum / weights
				if math.IsNaN(want) != math.IsNaN(got[m][d]) || math.Abs(want-got[m][d]) > 1e-12 {
					t.Errorf("statistic %d, method %d, day %d: %v, want %v", i, m, d, got[m][d], want)
				}
			}
		}
	}
}

// inWindow computes the sums of one pair from all rows.
func (h *History) inWindow(p pair, from int, s statistic) (weight, mean float64) {
	var cost, records, values, n float64
	for _, row := range h.Rows {
		if row.pair() == p && int(row.Day) >= from && int(row.Day) < h.Days && h.usable(&row) {
			cost, records, values, n = cost+row.Capped, records+row.Records, values+s.value(&row, false), n+1
		}
	}
	return s.weight(cost, records), values / n
}
