package weights_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/weights"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// weight is what the rule says of one row; NaN = no weight.
type weight struct{ w, wall float64 }

// weigh implements the rule for weights row by row, as plainly as it can be
// said, and shares no code or idea with the statement.
func weigh(rows []methodspan.Row) []weight {
	type cellKey struct {
		methodspan.Resource
		class, method string
		level         string
		start         int64
	}
	const minute, hour, date = int64(time.Minute), int64(time.Hour), int64(24 * time.Hour)
	keyOf := func(r *methodspan.Row, level string, length int64) cellKey {
		return cellKey{methodspan.Resource{
			ServiceNamespace: r.Resource.ServiceNamespace, Service: r.Resource.Service,
			Environment: r.Resource.Environment, Version: r.Resource.Version,
		}, r.Class, r.Method, level, r.StartNS - r.StartNS%length}
	}
	inCells := func(r *methodspan.Row) bool {
		return r.Level == methodspan.LevelRaw && r.Kind != methodspan.KindProcess
	}
	// side works for q and for p alike, which the reason of a sum names first and last.
	side := func(number int, measured func(*methodspan.Row) float64, prob func(*methodspan.Row) float64) []float64 {
		inRest := func(r *methodspan.Row) bool {
			reasons := strings.Split(r.Reason, "/")
			return r.Level != methodspan.LevelRaw && len(reasons) == 2 && reasons[number] == "rest"
		}
		type sums struct{ calls, n, n2, tail float64 }
		counted := map[cellKey]bool{} // hours with calls
		fineEnough := func(length int64, level string, among func(*methodspan.Row) bool) map[cellKey]bool {
			all := map[cellKey]*sums{}
			for i := range rows {
				r := &rows[i]
				if !inCells(r) || !among(r) {
					continue
				}
				k := keyOf(r, level, length)
				if all[k] == nil {
					all[k] = &sums{}
				}
				all[k].calls += r.Calls
				switch {
				case measured(r) > 0 && r.Stratum == methodspan.StratumTail:
					all[k].tail += measured(r) / prob(r)
				case measured(r) > 0:
					all[k].n += measured(r) / prob(r)
					all[k].n2 += measured(r) / (prob(r) * prob(r))
				}
			}
			fine := map[cellKey]bool{}
			for k, s := range all {
				// An hour whose calls were not counted here is no reason not to cut others.
				nothing := s.calls <= 0 && (level == "hour" || s.n == 0 && s.tail == 0)
				fine[k] = nothing || s.calls > 0 && s.n2 > 0 && s.n*s.n/s.n2 >= 20
				if level == "hour" && s.calls > 0 {
					counted[k] = true
				}
			}
			return fine
		}
		everything := func(*methodspan.Row) bool { return true }
		minutes, hours := fineEnough(minute, "minute", everything), fineEnough(hour, "hour", everything)
		cellOf := func(r *methodspan.Row) cellKey {
			h := r.StartNS - r.StartNS%hour
			byMinute := true
			for m := h; m < h+hour; m += minute {
				at := *r
				at.StartNS = m
				if fine, exists := minutes[keyOf(&at, "minute", minute)]; exists && !fine {
					byMinute = false
				}
			}
			if byMinute {
				return keyOf(r, "minute", minute)
			}
			d := r.StartNS - r.StartNS%date
			for m := d; m < d+date; m += hour {
				at := *r
				at.StartNS = m
				if fine, exists := hours[keyOf(&at, "hour", hour)]; exists && !fine {
					return keyOf(r, "date", date)
				}
			}
			if !counted[keyOf(r, "hour", hour)] {
				return keyOf(r, "date", date)
			}
			return keyOf(r, "hour", hour)
		}
		calls, estimate := map[cellKey]float64{}, map[cellKey]float64{}
		cells := make([]cellKey, len(rows))
		for i := range rows {
			r := &rows[i]
			switch {
			case inRest(r):
				cells[i] = keyOf(r, "date", date)
			case inCells(r):
				cells[i] = cellOf(r)
			default:
				continue
			}
			calls[cells[i]] += r.Calls
			if measured(r) > 0 {
				if r.Stratum == methodspan.StratumTail {
					calls[cells[i]] -= measured(r) / prob(r)
				} else {
					estimate[cells[i]] += measured(r) / prob(r)
				}
			}
		}
		// What is left of a date and was not timed is what others stand for, too.
		held := map[cellKey]float64{}
		for cell, n := range calls {
			if cell.level != "date" && estimate[cell] != 0 {
				d := cell
				d.level, d.start = "date", cell.start-cell.start%date
				held[d] += n
			}
		}
		final := func(r *methodspan.Row) bool {
			return r.Level != methodspan.LevelRaw && r.Kind != methodspan.KindProcess && !inRest(r)
		}
		for i := range rows {
			if r := &rows[i]; final(r) && measured(r) > 0 && r.Stratum != methodspan.StratumTail {
				held[keyOf(r, "date", date)] += measured(r) / prob(r)
			}
		}
		scale := func(r *methodspan.Row) float64 {
			d := keyOf(r, "date", date)
			if estimate[d] == 0 && calls[d] > 0 && held[d] > 0 {
				return 1 + calls[d]/held[d]
			}
			return 1
		}
		out := make([]float64, len(rows))
		for i := range rows {
			r := &rows[i]
			switch {
			case r.Measured == 0 || r.Kind == methodspan.KindProcess || measured(r) == 0:
				out[i] = math.NaN()
			case r.Stratum == methodspan.StratumTail:
				out[i] = 1 / prob(r)
			case final(r):
				out[i] = scale(r) / prob(r)
			case cells[i].level == "date":
				out[i] = calls[cells[i]] / prob(r) / estimate[cells[i]]
			default:
				out[i] = scale(r) * calls[cells[i]] / prob(r) / estimate[cells[i]]
			}
		}
		return out
	}
	w := side(0, func(r *methodspan.Row) float64 { return float64(r.CPUMeasured) }, (*methodspan.Row).Q)
	wall := side(1, func(r *methodspan.Row) float64 { return float64(r.Measured) }, func(r *methodspan.Row) float64 { return r.P })
	out := make([]weight, len(rows))
	for i := range out {
		out[i] = weight{w[i], wall[i]}
	}
	return out
}

// The weights that maintenance makes sums with are those of the rule, too.
func TestCells_EqualRule(t *testing.T) {
	for seed := range uint64(6) {
		rows := fixture.RandomRows(rand.New(rand.NewPCG(seed, 1)), 3000)
		want := weigh(rows)
		type key struct {
			methodspan.ProcessKey
			class, method string
			day           int32
		}
		cells := map[key]*weights.Cells{}
		keyOf := func(r *methodspan.Row) key {
			k := key{r.Resource.Key(), r.Class, r.Method, r.EventDay()}
			k.Instance, k.ProcessStartNS = "", 0
			return k
		}
		for i := range rows {
			k := keyOf(&rows[i])
			if cells[k] == nil {
				cells[k] = &weights.Cells{}
			}
			cells[k].Add(&rows[i])
		}
		for i := range rows {
			got := cells[keyOf(&rows[i])].Weigh(&rows[i])
			for j, pair := range [][2]float64{{got.W, want[i].w}, {got.Wall, want[i].wall}} {
				known := []bool{got.KnownW, got.KnownWall}[j]
				if known == math.IsNaN(pair[1]) || known && math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[1]) {
					t.Fatalf("seed %d row %d side %d: %v (%v), want %v: %+v", seed, i, j, pair[0], known, pair[1], rows[i])
				}
			}
		}
	}
}

func TestMethodCostView_EqualsRule(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	cells := map[any]int{}
	for seed := range uint64(6) {
		for _, n := range []int{3, 50, 500, 4000} {
			t.Run(fmt.Sprintf("seed %d rows %d", seed, n), func(t *testing.T) {
				rows := fixture.RandomRows(rand.New(rand.NewPCG(seed, uint64(n))), n)
				want := weigh(rows)
				root := fixture.Write(t, fixture.Items("i", rows...))
				w, err := query.Open(context.Background(), root, query.Window{})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				got, err := w.User(context.Background(), "SELECT row_seq, w, w_wall, cost_usd, cell, cell_wall FROM method_cost ORDER BY row_seq", n+1)
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Rows) != n {
					t.Fatalf("%d rows of %d", len(got.Rows), n)
				}
				for i, row := range got.Rows {
					cost := math.NaN()
					if rows[i].USDPerCoreHour != nil {
						cost = want[i].w * float64(rows[i].CPUNS) * *rows[i].USDPerCoreHour / 3.6e12
					}
					for j, w := range []float64{want[i].w, want[i].wall, cost} {
						g, ok := row[j+1].(float64)
						if ok != !math.IsNaN(w) || ok && math.Abs(g-w) > 1e-9*math.Max(math.Abs(w), 1e-9) {
							t.Fatalf("row %d column %d: %v, want %v (%+v)", i, j, row[j+1], w, rows[i])
						}
					}
					if row[1] != nil {
						cells[row[4]]++
					}
					cells[row[5]]++
				}
			})
		}
	}
	for _, cell := range []string{"minute", "hour", "date", "none"} {
		if cells[cell] < 20 {
			t.Errorf("%d rows were in cells of kind %s: the test shows nothing of them", cells[cell], cell)
		}
	}
}

// However many calls a process says it measured, they weigh as many as were counted.
func TestCells_MeasuredMoreThanCounted(t *testing.T) {
	const counted = 10
	res := &methodspan.Resource{Service: "shop", Version: "1"}
	for _, measured := range []int64{11, 1e6, methodspan.MostMeasured} {
		at := fixture.Start.UnixNano()
		row := methodspan.Row{Resource: res, Class: "cart", Method: "Add", Level: methodspan.LevelRaw, StartNS: at, EndNS: at + 1}
		counts, sums := row, row
		counts.Kind, counts.Calls = methodspan.KindCounts, counted
		sums.Kind, sums.Measured, sums.CPUMeasured, sums.WallNS, sums.CPUNS, sums.P, sums.CPUP = methodspan.KindAggregate, measured, measured, measured, measured, 1, 1
		rows := []methodspan.Row{counts, sums}
		var cells weights.Cells
		for i := range rows {
			cells.Add(&rows[i])
		}
		w := cells.Weigh(&rows[1])
		warehouse, err := query.Open(t.Context(), fixture.Write(t, fixture.Items("i", rows...)), query.Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer warehouse.Close()
		got, err := warehouse.User(t.Context(), "SELECT w, w_wall FROM method_cost WHERE measured > 0", 2)
		if err != nil || len(got.Rows) != 1 {
			t.Fatal(got, err)
		}
		for _, x := range []float64{w.W, w.Wall, got.Rows[0][0].(float64), got.Rows[0][1].(float64)} {
			if weighed := x * float64(measured); math.Abs(weighed-counted) > 1e-9*counted {
				t.Errorf("%d measurements weigh %v calls, %d were counted", measured, weighed, counted)
			}
		}
	}
}
