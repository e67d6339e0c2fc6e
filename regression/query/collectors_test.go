package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/test/fixture"
)

// together uploads directories to a bucket, each under the prefix of one collector.
func together(t *testing.T, roots []string) (address string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	address = "file://" + t.TempDir()
	for i, root := range roots {
		b, err := bucket.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		directory := t.TempDir()
		if err := os.CopyFS(directory, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		m, err := bucket.NewMirror(t.Context(), b, bucket.Options{Address: address, Prefix: fmt.Sprint("collector-", i), Directory: directory})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return address
}

// spread writes items to directories in turn, one directory per collector.
func spread(t *testing.T, collectors int, items []methodspan.Item) []string {
	t.Helper()
	shares := make([][]methodspan.Item, collectors)
	for i, item := range items {
		shares[i%collectors] = append(shares[i%collectors], item)
	}
	roots := make([]string, collectors)
	for i, share := range shares {
		roots[i] = fixture.Write(t, share)
	}
	return roots
}

// randomItems returns n random raw rows in items of 50 rows.
func randomItems(seed uint64, n int) (items []methodspan.Item) {
	rows := fixture.RandomRows(rand.New(rand.NewPCG(seed, 7)), n)
	for i := range rows {
		rows[i].Level, rows[i].Reason, rows[i].WeightBasis = methodspan.LevelRaw, "", methodspan.BasisExact
		if rows[i].Measured > 1 {
			rows[i].WallMaxNS, rows[i].CPUMaxNS = rows[i].WallNS, rows[i].CPUNS
		}
	}
	for i := 0; i < len(rows); i += 50 {
		items = append(items, fixture.Items(fmt.Sprint("i", i), rows[i:i+50]...)...)
	}
	return items
}

// Statements return the same results for the raw rows of several collectors as for their rollups, although each
// collector rolls up its own rows at its own time.
func TestRollup_SeveralCollectors(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	var shop, random []methodspan.Item
	for i, rates := range []float64{1, 0.02} {
		items, _ := fixture.Shop{
			Seed: uint64(i), Version: fmt.Sprint(i + 1), Instances: []string{"a", "b", "c", "d", "e"}, Minutes: 70, Requests: 8,
			Start: fixture.Start.Add(time.Duration(i-1) * 24 * time.Hour),
			Rate:  map[string]float64{fixture.Rate: rates, fixture.Total: 0.3, fixture.Log: 0.001}, CPURate: 0.6,
			CallerLookups: 0.6,
		}.Run()
		shop = append(shop, items...)
	}
	random = randomItems(7, 6000)
	late := fixture.Start.Add(10 * 24 * time.Hour)
	byMinute, byHour := maintain.Policy{MinuteAfter: 24 * time.Hour}, maintain.Policy{HourAfter: 24 * time.Hour}
	for name, items := range map[string][]methodspan.Item{"shop": shop, "random rows": random} {
		skip := ofRuns
		if name == "shop" {
			skip = func(name string) bool { return ofRuns(name) || shared(name) }
		}
		roots := spread(t, 3, items)
		raw := ask(t, together(t, roots))
		runMaintenance(t, roots[0], late, byMinute)
		runMaintenance(t, roots[1], late, byHour)
		compare(t, name+", one by minute, one by hour, one raw", ask(t, together(t, roots)), raw, skip)
		runMaintenance(t, roots[2], late, byMinute)
		compare(t, name+", none raw", ask(t, together(t, roots)), raw, skip)
		for _, root := range roots {
			runMaintenance(t, root, late, byHour)
		}
		compare(t, name+", by hour", ask(t, together(t, roots)), raw, skip)
	}
}

// Late rows get weights together with rollup rows. Rolling up the late rows changes no result.
func TestLateRows_SeveralCollectors(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	byMinute, byHour := maintain.Policy{MinuteAfter: 24 * time.Hour}, maintain.Policy{HourAfter: 24 * time.Hour}
	for _, seed := range []uint64{11, 12} {
		items := randomItems(seed, 3000)
		roots := spread(t, 2, items[:30])
		then := fixture.Start.Add(10 * 24 * time.Hour)
		runMaintenance(t, roots[0], then, byMinute)
		runMaintenance(t, roots[1], then, byHour)
		for i, root := range roots {
			fixture.Append(t, root, then.Add(time.Hour), items[30+15*i:45+15*i])
		}
		before := ask(t, together(t, roots))
		for _, root := range roots {
			runMaintenance(t, root, then.Add(4*time.Hour), byMinute)
		}
		compare(t, "late rows added up", ask(t, together(t, roots)), before, ofRuns)
		for _, root := range roots {
			runMaintenance(t, root, then.Add(8*time.Hour), byHour)
		}
		compare(t, "all by hour", ask(t, together(t, roots)), before, ofRuns)
	}
}

// The cost of calls does not depend on which collector counted and timed them: one that the process left before they
// ended, one that only counted them, or one that did not time their CPU.
func TestCells_CountedAndTimedElsewhere(t *testing.T) {
	fixture.SkipLong(t)
	at := func(hours int) int64 { return fixture.Start.Add(time.Duration(hours) * time.Hour).UnixNano() }
	row := func(hours int) methodspan.Row {
		return methodspan.Row{
			Resource: &methodspan.Resource{Service: "shop", Version: "1", Instance: "pod", ProcessStartNS: at(0)},
			Level:    methodspan.LevelRaw, WeightBasis: methodspan.BasisExact, Class: "a", Method: "M", StartNS: at(hours), EndNS: at(hours) + 1e6,
		}
	}
	counts := func(hours int, calls float64) []methodspan.Row {
		r := row(hours)
		r.Kind, r.Calls = methodspan.KindCounts, calls
		return []methodspan.Row{r}
	}
	timed := func(hours, records int, p, cpuP float64, d time.Duration) (rows []methodspan.Row) {
		for range records {
			r := row(hours)
			r.Kind, r.Measured, r.WallNS, r.P, r.EndNS = methodspan.KindCall, 1, int64(d), p, r.StartNS+int64(d)
			if cpuP > 0 {
				r.CPUMeasured, r.CPUNS, r.CPUP = 1, int64(d), cpuP
			}
			rows = append(rows, r)
		}
		return rows
	}
	all := func(parts ...[]methodspan.Row) []methodspan.Row { return slices.Concat(parts...) }
	often := all(counts(0, 100), timed(0, 40, 0.4, 1, time.Millisecond))
	for name, c := range map[string]struct {
		collectors [][]methodspan.Row
		want       time.Duration
	}{
		"a long call that was counted before a move": {[][]methodspan.Row{counts(0, 1), timed(0, 1, 1, 1, time.Hour)}, time.Hour},
		"the same among others": {[][]methodspan.Row{
			all(counts(0, 1), timed(0, 1, 1, 1, time.Hour), counts(3, 1), counts(6, 1), timed(6, 1, 1, 1, time.Hour)),
			timed(3, 1, 1, 1, 4*time.Hour),
		}, 6 * time.Hour},
		"the same among many":                  {[][]methodspan.Row{all(often, counts(3, 1)), timed(3, 1, 1, 1, time.Hour)}, time.Hour + 100*time.Millisecond},
		"counted only, timed often elsewhere":  {[][]methodspan.Row{often, counts(0, 100)}, 200 * time.Millisecond},
		"the same with an hour of few records": {[][]methodspan.Row{all(often, counts(1, 100), timed(1, 10, 0.1, 1, time.Millisecond)), counts(0, 100)}, 300 * time.Millisecond},
		"counted at another hour":              {[][]methodspan.Row{all(often, counts(5, 100))}, 200 * time.Millisecond},
		"CPU not timed there":                  {[][]methodspan.Row{often, all(counts(0, 100), timed(0, 40, 0.4, 0, time.Millisecond))}, 200 * time.Millisecond},
	} {
		var roots []string
		for i, rows := range c.collectors {
			roots = append(roots, fixture.Write(t, fixture.Items(fmt.Sprint("item-", i), rows...)))
		}
		for i, stage := range []string{"raw", "one by minute", "all by minute"} {
			if i > 0 {
				runMaintenance(t, roots[min(i, len(roots))-1], fixture.Start.Add(10*24*time.Hour), maintain.Policy{MinuteAfter: 24 * time.Hour})
			}
			a := ask(t, together(t, roots))
			if got := a["view cpu"]; math.Abs(got-float64(c.want)) > 1e-6*float64(c.want) {
				t.Errorf("%s, %s: %v, want %v", name, stage, time.Duration(got), c.want)
			}
			if calls, got := a[`method shop a.M "1" calls`], a[`method shop a.M "1" unmeasured`]; calls == 0 || got != 0 {
				t.Errorf("%s, %s: %v calls, %v of them not measured", name, stage, calls, got)
			}
		}
	}
	// Late counts for a date that was rolled up, with one collector.
	root := fixture.Write(t, fixture.Items("often", often...))
	then := fixture.Start.Add(10 * 24 * time.Hour)
	runMaintenance(t, root, then, maintain.Policy{MinuteAfter: 24 * time.Hour})
	fixture.Append(t, root, then, fixture.Items("late", counts(0, 100)...))
	if got := ask(t, root)["view cpu"]; math.Abs(got-200e6) > 200 {
		t.Errorf("late counts: %v ns, want 200ms", got)
	}
}

// The relations have the same columns for any number of collectors.
func TestOpen_ColumnsOfSeveralCollectors(t *testing.T) {
	items, _ := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 3, Requests: 5}.Run()
	roots := spread(t, 2, items)
	columnsOf := func(address, relation string) []string {
		w, err := Open(t.Context(), address, Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		table, err := w.User(t.Context(), "SELECT * FROM "+relation, 1)
		if err != nil {
			t.Fatal(err)
		}
		return table.Columns
	}
	for _, relation := range []string{"method_calls", "method_cost"} {
		one, two := columnsOf(roots[0], relation), columnsOf(together(t, roots), relation)
		if !slices.Equal(one, two) || slices.Contains(one, "part") || len(one) < len(columns.All) {
			t.Errorf("%s has the columns %v, of several collectors %v", relation, one, two)
		}
	}
}

// Methods are timed so rarely that most collectors only counted most of them. Their cost follows from the
// measurements of the other collectors, before and after rollup.
func TestCells_CountedHereTimedThere(t *testing.T) {
	const collectors, methods, calls, p = 4, 400, 100, 0.01
	rng := rand.New(rand.NewPCG(1, 2))
	var roots []string
	for i := range collectors {
		res := &methodspan.Resource{Service: "shop", Version: "1", Instance: fmt.Sprint("pod-", i), ProcessStartNS: fixture.Start.UnixNano()}
		var rows []methodspan.Row
		for m := range methods {
			base := methodspan.Row{Resource: res, Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact, Class: "a", Method: fmt.Sprint("M", m)}
			base.StartNS = fixture.Start.Add(time.Duration(m) * time.Second).UnixNano()
			base.EndNS = base.StartNS + 1e6
			counts := base
			counts.Kind, counts.Calls = methodspan.KindCounts, calls
			rows = append(rows, counts)
			for range calls {
				if rng.Float64() < p {
					call := base
					call.Kind, call.Measured, call.WallNS, call.P = methodspan.KindCall, 1, 1e6, p
					call.CPUMeasured, call.CPUNS, call.CPUP = 1, 1e6, 1
					rows = append(rows, call)
				}
			}
		}
		roots = append(roots, fixture.Write(t, fixture.Items(fmt.Sprint("i", i), rows...)))
	}
	check := func(what string) {
		t.Helper()
		w, err := Open(t.Context(), together(t, roots), Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		costs, err := w.Costs(t.Context(), CostQuery{TimeBucket: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		var x, counted, unmeasured float64
		for _, m := range costs.Methods {
			x, counted, unmeasured = x+m.X, counted+m.Calls, unmeasured+m.UnmeasuredCalls
		}
		// The cost of a method that no collector timed is unknown: 1.8% of the methods, 0.99^400.
		const all = collectors * methods * calls
		if counted != all || unmeasured > 0.04*all || math.Abs(x+unmeasured*1e6-all*1e6) > 1 {
			t.Errorf("%s: %v calls, %v of them not measured, %v ns; want %v calls of 1e6 ns", what, counted, unmeasured, x, all)
		}
	}
	check("raw")
	for i, root := range roots {
		runMaintenance(t, root, fixture.Start.Add(10*24*time.Hour), maintain.Policy{MinuteAfter: 24 * time.Hour})
		check(fmt.Sprintf("%d of %d by minute", i+1, collectors))
	}
	for _, root := range roots {
		runMaintenance(t, root, fixture.Start.Add(10*24*time.Hour), maintain.Policy{HourAfter: 24 * time.Hour})
	}
	check("by hour")
}

// The window of a user's statement is cut after rows have their weights, with several collectors too.
func TestUserStatement_WindowAfterWeighting(t *testing.T) {
	shop := fixture.Shop{Seed: 3, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 90, Requests: 10, Rate: map[string]float64{fixture.Rate: 0.2}, CPURate: 0.5}
	items, _ := shop.Run()
	address := together(t, spread(t, 3, items))
	window := Window{From: fixture.Start.Add(30 * time.Minute), To: fixture.Start.Add(70*time.Minute + time.Second)}
	sums := func(window Window, view, where string) map[string][]float64 {
		t.Helper()
		w, err := Open(t.Context(), address, window)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if !w.dialect.Parted {
			t.Fatal("the rows are of one collector")
		}
		return sumsByQuery(t, w, "SELECT COALESCE(method, '') AS key, COUNT(*), SUM(calls), SUM(w * cpu_ns), SUM(w_wall), MIN(start_ns), MAX(start_ns) FROM "+view+where+" GROUP BY ALL")
	}
	from, to := window.nanos()
	where := fmt.Sprintf(" WHERE start_ns >= %d AND start_ns < %d", from, to)
	for _, view := range []string{"method_cost", "query_table('method_' || 'cost')"} {
		sameSums(t, view, sums(window, view, ""), sums(Window{}, view, where))
	}
}
