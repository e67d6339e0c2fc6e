package query

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/test/fixture"
)

const fullName = "CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END"

// lakesOfRandomRows returns warehouses of raw rows: one collector's, and two collectors', where one has rolled up its
// own rows by minute.
func lakesOfRandomRows(t *testing.T, seed uint64) map[string]string {
	t.Helper()
	items := randomItems(seed, 4000)
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range items {
		for k := range items[i].Rows {
			r := &items[i].Rows[k]
			if r.Kind == methodspan.KindProcess {
				continue
			}
			r.Signature = []string{"", "func()", "func(int)"}[rng.IntN(3)]
			if r.Measured > 0 {
				r.Caller = []string{"", "(entry)", "cart.Cart.Add", "Total", "elsewhere.F"}[rng.IntN(5)]
				r.Errors = float64(rng.Int64N(r.Measured + 1))
			}
			if r.CPUMeasured > 0 {
				r.CPUWaits = float64(rng.IntN(4))
			}
		}
	}
	roots := spread(t, 2, items)
	runMaintenance(t, roots[0], fixture.Start.Add(10*24*time.Hour), maintain.Policy{MinuteAfter: 24 * time.Hour})
	return map[string]string{"raw": fixture.Write(t, items), "part of it added up": together(t, roots)}
}

// addedUpFrom makes statements add rows up for time buckets of timeBucket or longer.
func addedUpFrom(t *testing.T, timeBucket time.Duration) {
	before := sumsFrom
	sumsFrom = timeBucket
	t.Cleanup(func() { sumsFrom = before })
}

// Statements return the same results whether weights are computed for rows or for sums of rows. The results equal
// the sums of weighted rows, however time buckets and windows cut hours and minutes.
func TestSums_EqualWeightedRows(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	day := fixture.Start.UTC().Truncate(24 * time.Hour)
	for name, root := range lakesOfRandomRows(t, 21) {
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		for _, timeBucket := range []time.Duration{7 * time.Minute, time.Hour, 25 * time.Hour} {
			for _, window := range []Window{{}, {day.Add(3*time.Hour + 17*time.Minute + 13*time.Second), day.Add(26*time.Hour + 40*time.Second)}} {
				where := fmt.Sprintf("%s, slots of %v, window from %v", name, timeBucket, window.From)
				from, to := window.nanos()
				for _, m := range []Metric{CPU, Wall} {
					addedUpFrom(t, 0)
					compareSums(t, w, where, m, window, timeBucket, from, to)
					summed := everySum(t, w, m, window, timeBucket)
					addedUpFrom(t, math.MaxInt64)
					sameSums(t, where+", "+string(m), summed, everySum(t, w, m, window, timeBucket))
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// everySum returns the results of all statements that can add rows up.
func everySum(t *testing.T, w *Warehouse, m Metric, window Window, timeBucket time.Duration) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	add := func(values []float64, key ...any) { out[fmt.Sprintf("%q", key)] = values }
	profile := func(what string, a ProfileQuery) {
		profiles, edges, err := w.Profiles(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range profiles {
			add([]float64{
				float64(p.Records), p.N, p.X, p.SelfX, p.NN, p.NX, p.XX, p.NS, p.SS, p.OuterX, p.OuterUSD, p.SelfUSD, p.UnpricedX, p.OrphanX,
			}, what, p.Service, p.Version, p.Side, p.Full, p.Class, p.Method, p.Signature)
		}
		for _, e := range edges {
			add([]float64{e.N, e.X}, what, "edge", e.Service, e.Side, e.Caller, e.Callee)
		}
	}
	profile("all", ProfileQuery{Metric: m, Window: window, TimeBucket: timeBucket})
	shop := Service{Namespace: "store", Name: "shop", Environment: "prod"}
	profile("sides", ProfileQuery{Metric: m, Compared: []Compared{
		{Service: shop, Side: SideBase, Version: "1", Window: window, TimeBucket: timeBucket},
		{Service: shop, Side: SideHead, Version: "2", Window: window, TimeBucket: timeBucket},
	}})
	costs, err := w.Costs(t.Context(), CostQuery{Window: window, TimeBucket: timeBucket, Group: []string{"service", "version"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range costs.Methods {
		add([]float64{
			c.Calls, c.UnmeasuredCalls, float64(c.Measured), float64(c.CPUMeasured), c.WallN, c.WallX, c.Errors, c.Waits, c.N, c.X, c.SelfX, c.SelfUSD, c.SelfUnpricedX, c.OrphanX,
		}, "cost", c.Service, c.Version, c.Full, c.Class, c.Method, c.Signature)
	}
	for _, g := range costs.Groups {
		add([]float64{g.N, g.Residuals.Squares, float64(g.Residuals.Count), float64(g.Instances)}, "group", g.Group)
	}
	for _, e := range costs.Edges {
		add([]float64{e.Calls, e.N, e.X, e.USD, e.Waits}, "cost edge", e.Service, e.Version, e.Caller, e.Callee)
	}
	chosen := []MethodName{{Service: shop, Class: "cart.Cart", Method: "Add"}, {Service: shop, Method: "Total"}}
	points, err := w.History(t.Context(), ProfileQuery{Metric: m, Window: window, TimeBucket: timeBucket}, 3*timeBucket, chosen)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		add([]float64{p.Calls, float64(p.Records), float64(p.Clusters), p.N, p.X, p.NN, p.NX, p.XX}, "history", p.MethodName, p.Version, p.At)
	}
	shares, err := w.Distribution(t.Context(), ProfileQuery{Metric: m, Window: window, TimeBucket: timeBucket}, chosen)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shares {
		add([]float64{s.N}, "distribution", s.MethodName, s.Version, s.Bin)
	}
	for _, what := range []string{`["all" "edge"`, `["sides"`, `["group"`, `["cost edge"`, `["history"`, `["distribution"`} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(out)), func(key string) bool { return strings.HasPrefix(key, what) }) {
			t.Errorf("nothing is compared of %s", what)
		}
	}
	return out
}

func compareSums(t *testing.T, w *Warehouse, where string, m Metric, window Window, timeBucket time.Duration, from, to int64) {
	t.Helper()
	c := columnsOf[m]
	found := sumsByQuery(t, w, fmt.Sprintf(`
		SELECT
			concat_ws(' ', 'profile', service_namespace, service, environment, version, name) AS key,
			SUM(records), COUNT(CASE WHEN n > 0 THEN 1 END), SUM(n), SUM(x), SUM(n * n), SUM(n * x), SUM(x * x)
		FROM (
			SELECT service_namespace, service, environment, version, %[1]s AS name, SUM(%[2]s) AS records, COALESCE(SUM(%[3]s * %[2]s), 0) AS n, COALESCE(SUM(%[3]s * %[4]s), 0) AS x
			FROM method_cost
			WHERE measured > 0 AND w_wall IS NOT NULL AND start_ns >= %[5]d AND start_ns < %[6]d
			GROUP BY service_namespace, service, environment, version, name, instance, start_ns - MOD(start_ns, %[7]d)
		)
		GROUP BY key`, fullName, c.Measured, c.Weight, c.Value, from, to, timeBucket.Nanoseconds()))
	profiles, _, err := w.Profiles(t.Context(), ProfileQuery{Metric: m, Window: window, TimeBucket: timeBucket})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]float64{}
	for _, p := range profiles {
		key := strings.Join(slices.DeleteFunc([]string{"profile", p.Namespace, p.Service.Name, p.Environment, p.Version, p.Full}, func(s string) bool { return s == "" }), " ")
		said[key] = []float64{float64(p.Records), float64(p.Clusters), p.N, p.X, p.NN, p.NX, p.XX}
	}
	sameSums(t, where+", profile of "+string(m), said, found)
	if m == Wall {
		return
	}
	found = sumsByQuery(t, w, fmt.Sprintf(`
		SELECT
			concat_ws(' ', 'cost', service_namespace, service, environment, version, %s) AS key,
			SUM(calls), SUM(CASE WHEN cell_wall = 'none' THEN calls - COALESCE(w_wall * measured, 0) ELSE 0 END), SUM(measured), SUM(cpu_measured),
			COALESCE(SUM(w_wall * measured), 0), COALESCE(SUM(w_wall * wall_ns), 0), COALESCE(SUM(w_wall * errors), 0), COALESCE(SUM(w * cpu_measured), 0), COALESCE(SUM(w * cpu_ns), 0)
		FROM method_cost
		WHERE kind IN ('call', 'counts', 'aggregate') AND start_ns >= %d AND start_ns < %d
		GROUP BY key`, fullName, from, to))
	costs, err := w.Costs(t.Context(), CostQuery{Window: window, TimeBucket: timeBucket})
	if err != nil {
		t.Fatal(err)
	}
	said = map[string][]float64{}
	for _, p := range costs.Methods {
		key := strings.Join(slices.DeleteFunc([]string{"cost", p.Namespace, p.Service.Name, p.Environment, p.Version, p.Full}, func(s string) bool { return s == "" }), " ")
		said[key] = []float64{p.Calls, p.UnmeasuredCalls, float64(p.Measured), float64(p.CPUMeasured), p.WallN, p.WallX, p.Errors, p.N, p.X}
	}
	sameSums(t, where+", cost", said, found)
}

func sumsByQuery(t *testing.T, w *Warehouse, text string) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	err := w.UserRows(t.Context(), "SELECT key, CAST(COLUMNS(* EXCLUDE (key)) AS DOUBLE) FROM ("+text+")", func([]UserColumn) error { return nil }, func(row []any) error {
		for _, v := range row[1:] {
			f, _ := v.(float64)
			out[row[0].(string)] = append(out[row[0].(string)], f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no sums")
	}
	return out
}

func sameSums(t *testing.T, where string, said, want map[string][]float64) {
	t.Helper()
	if len(said) != len(want) {
		t.Errorf("%s: %d methods, want %d", where, len(said), len(want))
	}
	for key, values := range want {
		if len(said[key]) != len(values) {
			t.Errorf("%s: %s is %v, want %v", where, key, said[key], values)
			continue
		}
		for i, v := range values {
			if math.Abs(said[key][i]-v) > 1e-9*math.Max(math.Abs(v), 1) {
				t.Errorf("%s: %s: figure %d is %v, want %v", where, key, i, said[key][i], v)
			}
		}
	}
}

// A user's statement reads the same values whether its weights are stored or computed by the view. Only stored weights
// avoid reading the columns that the statement does not use.
func TestStoredWeights_EqualView(t *testing.T) {
	for name, root := range lakesOfRandomRows(t, 22) {
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		const order = " ORDER BY start_ns, batch_id, row_seq, level, reason, method, version, instance, w, w_wall"
		formed, err := w.User(t.Context(), "SELECT * FROM query_table('method_' || 'cost')"+order, 1e6)
		if err != nil {
			t.Fatal(err)
		}
		if w.user.weighed {
			t.Fatal("the text was seen to read the view")
		}
		stored, err := w.User(t.Context(), "SELECT * FROM METHOD_COST"+order, 1e6)
		if err != nil {
			t.Fatal(err)
		}
		if !w.user.weighed {
			t.Fatal("the text was not seen to read the view")
		}
		if !slices.Equal(formed.Columns, stored.Columns) || len(formed.Rows) != len(stored.Rows) || len(stored.Rows) < 3000 {
			t.Fatalf("%s: %d rows of %v, want %d of %v", name, len(stored.Rows), stored.Columns, len(formed.Rows), formed.Columns)
		}
		weighed := 0
		for i, row := range stored.Rows {
			for j, v := range row {
				want := formed.Rows[i][j]
				a, ok := v.(float64)
				b, also := want.(float64)
				if ok && also {
					weighed++
				}
				if ok != also || ok && math.Abs(a-b) > 1e-9*math.Abs(b) || !ok && fmt.Sprint(v) != fmt.Sprint(want) {
					t.Fatalf("%s: %s of row %d is %v, want %v", name, stored.Columns[j], i, v, want)
				}
			}
		}
		if weighed == 0 {
			t.Errorf("%s: no row has weights", name)
		}
		plan, err := w.User(t.Context(), "EXPLAIN SELECT service, SUM(cost_usd) FROM method_cost GROUP BY service", 10)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(plan.Rows); !strings.Contains(text, "cpu_ns") || strings.Contains(text, "trace_id") {
			t.Errorf("%s: the plan is\n%s\nwant it to read cpu_ns, and no trace_id", name, text)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
