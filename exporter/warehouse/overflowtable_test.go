package warehouse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/weights"
)

// randomRows returns n rows of all kinds, with few processes, methods and minutes.
func randomRows(rng *rand.Rand, n int) []methodspan.Row {
	price := 0.05
	rows := make([]methodspan.Row, n)
	for i := range rows {
		r := &rows[i]
		*r = methodspan.Row{
			Resource: &methodspan.Resource{Service: "shop", Instance: fmt.Sprint(rng.IntN(3))},
			Kind:     methodspan.KindCall, Level: methodspan.LevelRaw,
			Class: "a.B", Method: fmt.Sprint("M", rng.IntN(4)), Caller: fmt.Sprint("c.D", rng.IntN(20)),
			Stack: "x;y", Group: "g", Reason: "r", RowSeq: int32(i),
			StartNS: rng.Int64N(10 * 60e9), Measured: 1, P: []float64{1, 0.5, 0.01}[rng.IntN(3)],
		}
		r.WallNS = rng.Int64N(1e9)
		r.EndNS = r.StartNS + r.WallNS
		switch rng.IntN(8) {
		case 0:
			r.Kind, r.Measured, r.WallNS, r.P, r.Caller = methodspan.KindCounts, 0, 0, 0, ""
			r.Calls = float64(rng.IntN(1e6))
		case 1:
			r.Kind = methodspan.KindProcess
			r.Process = &methodspan.ProcessStats{Cores: 2}
		case 2:
			r.Kind, r.Measured = methodspan.KindAggregate, int64(2+rng.IntN(9))
		case 3:
			r.CPUMeasured, r.CPUNS, r.CPUP = 1, r.WallNS/2, 0.5
		case 4:
			r.USDPerCoreHour, r.PriceSource = &price, "book"
		case 5:
			r.Stratum, r.P = methodspan.StratumTail, 1
		case 6:
			r.WeightBasis, r.Calls = methodspan.BasisServed, 1/r.P
		}
	}
	return rows
}

// For any table size, aggregated rows keep their weighted sums, and all other rows are counted as lost.
func TestOverflowTable_ConservesTotals(t *testing.T) {
	for _, cells := range []int{1, 5, 40, 100_000} {
		for seed := range uint64(5) {
			rng := rand.New(rand.NewPCG(seed, uint64(cells)))
			rows := randomRows(rng, 2000)
			f := newOverflowTable(cells)
			var result overflowResult
			for i := 0; i < len(rows); i += 100 {
				got := f.addItems([]methodspan.Item{{ID: fmt.Sprint("p-", i), Rows: rows[i : i+100]}})
				result.measurements += got.measurements
				result.calls += got.calls
				result.lostRows.measurements += got.lostRows.measurements
				result.lostRows.calls += got.lostRows.calls
				result.lostRows.processRows += got.lostRows.processRows
			}
			item := f.drain()
			require.NotNil(t, item)
			assert.Len(t, item.Folds, 20)
			assert.LessOrEqual(t, len(item.Rows), 3*cells)
			assert.Nil(t, f.drain())

			var calls, measured, process float64
			for _, r := range rows {
				if r.Kind == methodspan.KindProcess {
					process++
					continue
				}
				calls += r.Calls
				measured += float64(r.Measured)
			}
			assert.InDelta(t, calls, result.calls+result.lostRows.calls, 1e-6)
			assert.Equal(t, measured, float64(result.measurements)+result.lostRows.measurements)
			var outCalls float64
			var outMeasured int64
			for i, r := range item.Rows {
				assert.Equal(t, item.ID, r.BatchID)
				assert.EqualValues(t, i, r.RowSeq)
				if r.Kind == methodspan.KindProcess {
					process--
					continue
				}
				assert.Empty(t, r.Stack+r.Group+r.Reason)
				outCalls += r.Calls
				outMeasured += r.Measured
			}
			assert.InDelta(t, result.calls, outCalls, 1e-6)
			assert.Equal(t, result.measurements, outMeasured)
			assert.Equal(t, process, result.lostRows.processRows)
			if cells == 100_000 {
				assert.Zero(t, result.lostRows)
				in, out := rowTotals{}, rowTotals{}
				in.addRows(rows)
				out.addRows(item.Rows)
				balanced(t, in, out)
			}
		}
	}
}

// Rows are added up only if they have the same probabilities and stratum and belong to the same minute.
func TestOverflowTable_SeparatesIncompatibleRows(t *testing.T) {
	base := methodspan.Row{Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCall, Method: "M", Measured: 1, WallNS: 10, P: 0.5, CPUP: 0.5, StartNS: 60e9}
	price, other := 0.05, 0.06
	base.USDPerCoreHour = &price
	for name, change := range map[string]func(*methodspan.Row){
		"p":        func(r *methodspan.Row) { r.P = 0.25 },
		"cpu_p":    func(r *methodspan.Row) { r.CPUP = 0.25 },
		"stratum":  func(r *methodspan.Row) { r.Stratum = methodspan.StratumTail },
		"minute":   func(r *methodspan.Row) { r.StartNS = 120e9 },
		"method":   func(r *methodspan.Row) { r.Method = "N" },
		"caller":   func(r *methodspan.Row) { r.Caller = "c" },
		"price":    func(r *methodspan.Row) { r.USDPerCoreHour = &other },
		"no price": func(r *methodspan.Row) { r.USDPerCoreHour = nil },
		"basis":    func(r *methodspan.Row) { r.WeightBasis = methodspan.BasisAssumed },
		"process":  func(r *methodspan.Row) { r.Resource = &methodspan.Resource{Service: "shop", Instance: "2"} },
		"kind":     func(r *methodspan.Row) { r.Kind, r.Measured, r.Calls = methodspan.KindCounts, 0, 7 },
	} {
		f := newOverflowTable(10)
		changed := base
		change(&changed)
		f.addItems([]methodspan.Item{{ID: "a", Rows: []methodspan.Row{base, base, changed}}})
		assert.Equal(t, 2, f.cells(), name)
	}
}

// costs returns the calls of each method and its weighted CPU time in nanoseconds.
func costs(rows []methodspan.Row) map[string][2]float64 {
	cells := map[string]*weights.Cells{}
	for i := range rows {
		r := &rows[i]
		if cells[r.Method] == nil {
			cells[r.Method] = &weights.Cells{}
		}
		cells[r.Method].Add(r)
	}
	all := map[string][2]float64{}
	for i := range rows {
		r := &rows[i]
		w := cells[r.Method].Weigh(r)
		sum := all[r.Method]
		all[r.Method] = [2]float64{sum[0] + r.Calls, sum[1] + w.W*float64(r.CPUNS)}
	}
	return all
}

// minutesOf returns counts and measurements of each method in each minute. About every second call is
// measured, and calls get slower from minute to minute.
func minutesOf(res *methodspan.Resource, methods, minutes int) (rows []methodspan.Row) {
	for m := range minutes {
		start := int64(m) * nsPerMin
		for k := range methods {
			row := methodspan.Row{Resource: res, Level: methodspan.LevelRaw, Method: fmt.Sprint("M", k), WeightBasis: methodspan.BasisExact}
			counts, call := row, row
			counts.Kind, counts.StartNS, counts.EndNS, counts.Calls = methodspan.KindCounts, start, start+nsPerMin, float64(100+10*m)
			rows = append(rows, counts)
			call.Kind, call.Measured, call.CPUMeasured, call.P, call.CPUP = methodspan.KindCall, 1, 1, 0.5, 1
			call.WallNS, call.CPUNS = int64(1000*(m+1)), int64(1000*(m+1))
			for i := range 50 {
				call.Caller = fmt.Sprint("c.D", i%3)
				call.StartNS = start + int64(i)*1e9
				call.EndNS = call.StartNS + call.WallNS
				rows = append(rows, call)
			}
		}
	}
	return rows
}

// Rows beyond the fine cells lose their caller. Counts and measurements of a method stay in the same
// minute, so that the cost of the method is unchanged.
func TestOverflowTable_CoarseCellsKeepCosts(t *testing.T) {
	rows := minutesOf(&methodspan.Resource{Service: "shop"}, 10, 10)
	for _, cells := range []int{150, 200, 300} { // all rows would need 400 fine cells or 200 coarse cells
		f := newOverflowTable(cells)
		require.Zero(t, f.addItems([]methodspan.Item{{ID: "a", Rows: rows}}).lostRows)
		want, got := costs(rows), costs(f.drain().Rows)
		assert.Len(t, got, len(want))
		for method, x := range want {
			assert.InDelta(t, x[0], got[method][0], 1e-6, method)
			assert.InEpsilon(t, x[1], got[method][1], 1e-6, method)
		}
	}
}

// Counts always have a cell, however many measurements there are.
func TestOverflowTable_ReservesCellsForCounts(t *testing.T) {
	res := &methodspan.Resource{Service: "shop"}
	const cells = 40
	f := newOverflowTable(cells)
	rows := minutesOf(res, 100, 3)
	result := f.addItems([]methodspan.Item{{ID: "a", Rows: rows}})
	assert.Positive(t, result.lostRows.measurements)
	assert.Zero(t, result.lostRows.calls)
	assert.LessOrEqual(t, f.cells(), 2*cells)
	got := costs(f.drain().Rows)
	assert.Positive(t, got[methodspan.Overflow][0])
	assert.Zero(t, got[methodspan.Overflow][1])
	var want, sum float64
	for _, x := range costs(rows) {
		want += x[0]
	}
	for _, x := range got {
		sum += x[0]
	}
	assert.InDelta(t, want, sum, 1e-6)
}

func TestOverflowTable_CountsUnweightedRows(t *testing.T) {
	f := newOverflowTable(10)
	rows := []methodspan.Row{{Method: "M", Measured: 1, WallNS: 10}, {Method: "M", Measured: 1, P: math.NaN()}}
	result := f.addItems([]methodspan.Item{{ID: "a", Rows: rows}})
	assert.EqualValues(t, 2, result.lostRows.measurements)
	item := f.drain()
	require.NotNil(t, item, "its id must be settled")
	assert.Empty(t, item.Rows)
}

// Rows beyond the maximum number of ids are still aggregated; their ids are returned as forgotten.
func TestOverflowTable_IDsBounded(t *testing.T) {
	f := newOverflowTable(10)
	items := make([]methodspan.Item, maxOverflowIDs+10)
	for i := range items {
		items[i] = methodspan.Item{ID: fmt.Sprint("a-", i), Rows: []methodspan.Row{{Kind: methodspan.KindCounts, Method: "M", Calls: 1}}}
	}
	result := f.addItems(items)
	assert.Len(t, result.forgotten, 10)
	item := f.drain()
	assert.Len(t, item.Folds, maxOverflowIDs)
	assert.EqualValues(t, maxOverflowIDs+10, item.Rows[0].Calls)
}

// While the cells are full, the resources of further processes are not kept.
func TestOverflowTable_ResourcesBounded(t *testing.T) {
	f := newOverflowTable(10)
	lost := 0.0
	for i := range 1000 {
		res := &methodspan.Resource{Instance: fmt.Sprint("pod-", i), ProcessStartNS: 1}
		rows := []methodspan.Row{{Resource: res, Kind: methodspan.KindCounts, Method: "M", Calls: 1}, {Resource: res, Kind: methodspan.KindProcess}}
		lost += f.addItems([]methodspan.Item{{ID: fmt.Sprint(i), Rows: rows}}).lostRows.calls
	}
	assert.Equal(t, 20, f.cells())
	assert.LessOrEqual(t, len(f.shared), 30)
	assert.EqualValues(t, 1000-20, lost)
}

// The resources of measurements are not kept either, while the remaining cells are reserved for counts.
func TestOverflowTable_MeasurementResourcesBounded(t *testing.T) {
	f := newOverflowTable(10)
	for i := range 1000 {
		res := &methodspan.Resource{Instance: fmt.Sprint("pod-", i), ProcessStartNS: 1}
		f.addItems([]methodspan.Item{{ID: fmt.Sprint(i), Rows: []methodspan.Row{{Resource: res, Kind: methodspan.KindCall, Method: "M", Measured: 1, P: 1}}}})
	}
	assert.Equal(t, 19, f.cells())
	assert.Len(t, f.shared, 19)
}

func TestOverflowTable_KeepsNewestProcessRows(t *testing.T) {
	f := newOverflowTable(2)
	row := func(instance string, start int64) methodspan.Row {
		return methodspan.Row{Resource: &methodspan.Resource{Instance: instance}, Kind: methodspan.KindProcess, StartNS: start, Process: &methodspan.ProcessStats{}}
	}
	result := f.addItems([]methodspan.Item{{ID: "a", Rows: []methodspan.Row{row("1", 1), row("2", 1), row("1", 5), row("3", 9)}}})
	assert.EqualValues(t, 2, result.lostRows.processRows)
	rows := f.drain().Rows
	require.Len(t, rows, 2)
	assert.EqualValues(t, 5, rows[0].StartNS)
	assert.EqualValues(t, 1, rows[1].StartNS)
}

func BenchmarkFold(b *testing.B) {
	rows := randomRows(rand.New(rand.NewPCG(1, 2)), 8192)
	shared := &methodspan.Resource{Service: "shop"}
	for i := range rows {
		rows[i].Resource = shared
	}
	items := []methodspan.Item{{ID: "a", Rows: rows}}
	n := 0
	for b.Loop() {
		f := newOverflowTable(10_000)
		f.addItems(items)
		n += len(rows)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
