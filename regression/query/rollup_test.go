package query

import (
	"cmp"
	"context"
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
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// runMaintenance runs maintenance at a given time.
func runMaintenance(t *testing.T, root string, now time.Time, p maintain.Policy) *maintain.Result {
	t.Helper()
	if p.MaxFiles == 0 {
		p.MaxFiles = maintain.DefaultMaxFiles
	}
	job := maintain.Job{Root: root, Policy: p, Parquet: table.Options{Now: func() time.Time { return now }}}
	report, err := job.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// answers holds the results of statements by name.
type answers map[string]float64

func (a answers) add(name string, x float64) { a[name] += x }

// ask runs every statement whose totals a rollup must preserve.
func ask(t *testing.T, root string) answers {
	t.Helper()
	ctx := context.Background()
	w, err := Open(ctx, root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a := answers{}
	for _, metric := range []Metric{CPU, Wall} {
		profiles, edges, err := w.Profiles(ctx, ProfileQuery{Metric: metric, TimeBucket: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range profiles {
			name := fmt.Sprintf("profile %s %s %s %q ", metric, p.Service, p.Full, p.Version)
			a.add(name+"records", float64(p.Records))
			a.add(name+"n", p.N)
			a.add(name+"x", p.X)
			a.add(name+"self", p.SelfX)
			a.add(name+"self usd", p.SelfUSD)
			a.add(name+"unpriced", p.UnpricedX)
			a.add(name+"orphan", p.OrphanX)
		}
		for _, e := range edges {
			name := fmt.Sprintf("edge %s %s %s %s ", metric, e.Service, e.Caller, e.Callee)
			a.add(name+"n", e.N)
			a.add(name+"x", e.X)
		}
		if err := w.Days(ctx, metric, Window{}, Filter{}, func(d *MethodDay) error {
			name := fmt.Sprintf("day %s %s %s %s ", metric, d.Service, d.Full, d.Date.Format(time.DateOnly))
			a.add(name+"records", d.Records)
			a.add(name+"weight", d.Weight)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	costs, err := w.Costs(ctx, CostQuery{TimeBucket: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range costs.Methods {
		name := fmt.Sprintf("method %s %s.%s %q ", m.Service, m.Class, m.Method, m.Version)
		a.add(name+"n", m.N)
		a.add(name+"x", m.X)
		a.add(name+"self", m.SelfX)
		a.add(name+"self usd", m.SelfUSD)
		a.add(name+"calls", m.Calls)
		a.add(name+"unmeasured", m.UnmeasuredCalls)
		a.add(name+"measured", float64(m.Measured))
		a.add(name+"cpu measured", float64(m.CPUMeasured))
		a.add(name+"wall n", m.WallN)
		a.add(name+"wall x", m.WallX)
		a.add(name+"errors", m.Errors)
		a.add(name+"waits", m.Waits)
	}
	bills, err := w.Bills(ctx, CostQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bills {
		a.add("process "+b.Service.String()+" cpu", b.CPUNS)
		a.add("process "+b.Service.String()+" usd", b.CPUUSD)
		a.add("process "+b.Service.String()+" paid", b.PaidNS)
		a.add("process "+b.Service.String()+" paid usd", b.PaidUSD)
	}
	runs, err := w.Runs(ctx, Window{}, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		name := fmt.Sprintf("runs %s %q ", r.Service, r.Version)
		a.add(name+"measured", float64(r.Measured))
		a.add(name+"number", 1)
	}
	table, err := w.User(ctx, "SELECT SUM(cost_usd), SUM(w * cpu_ns), SUM(w_wall * wall_ns), SUM(calls), MAX(COALESCE(wall_max_ns, CASE WHEN measured = 1 THEN wall_ns END)) FROM method_cost", 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"usd", "cpu", "wall", "calls", "longest"} {
		switch x := table.Rows[0][i].(type) {
		case float64:
			a.add("view "+name, x)
		case int64:
			a.add("view "+name, float64(x))
		}
	}
	return a
}

// compare requires the same results, to the rounding of times to whole nanoseconds, which shows where times are short.
func compare(t *testing.T, what string, got, want answers, skip func(name string) bool) {
	t.Helper()
	wrong := 0
	for name, w := range want {
		if skip != nil && skip(name) {
			continue
		}
		g, ok := got[name]
		if (!ok && w != 0) || math.Abs(g-w) > 3e-6*math.Abs(w)+1e-6 {
			if wrong++; wrong <= 10 {
				t.Errorf("%s: %s is %v, want %v", what, name, g, w)
			}
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok && g != 0 && (skip == nil || !skip(name)) {
			t.Errorf("%s: %s is %v, want nothing", what, name, g)
		}
	}
}

// busyDates writes two dates of a shop whose rates and caller lookups produce weight cells of every kind, next to rows
// of every other kind.
func busyDates(t *testing.T) string {
	t.Helper()
	var commits [][]methodspan.Item
	for i, rates := range []float64{1, 0.02} {
		shop := fixture.Shop{
			Seed: uint64(i), Version: fmt.Sprint(i + 1), Instances: []string{"a", "b", "c"}, Minutes: 150, Requests: 8,
			Start: fixture.Start.Add(time.Duration(i-1) * 24 * time.Hour),
			Rate:  map[string]float64{fixture.Rate: rates, fixture.Total: 0.3, fixture.Log: 0.001}, CPURate: 0.6,
			CallerLookups: 0.6,
		}
		items, _ := shop.Run()
		for _, item := range items {
			for k := range item.Rows {
				if r := &item.Rows[k]; r.CPUMeasured > 0 && r.Kind != methodspan.KindProcess {
					r.CPUWaits = float64(k % 3)
				}
			}
		}
		// Several commits per date.
		for len(items) > 0 {
			n := min(len(items), 60)
			commits = append(commits, items[:n])
			items = items[n:]
		}
	}
	return fixture.Write(t, commits...)
}

// Statements return the same results from raw rows, from their minute rollups, and from hourly rollups of
// these.
func TestRollup_EqualsTruth(t *testing.T) {
	root := busyDates(t)
	raw := ask(t, root)
	quantiles := quantilesOf(t, root)
	end := fixture.Start.Truncate(24 * time.Hour).Add(24 * time.Hour)
	report := runMaintenance(t, root, end.Add(48*time.Hour), maintain.Policy{MinuteAfter: 24 * time.Hour})
	if len(report.Steps) != 2 {
		t.Fatalf("%+v", report)
	}
	compare(t, "by minute", ask(t, root), raw, nil)
	wantQuantiles(t, root, quantiles)
	report = runMaintenance(t, root, end.Add(96*time.Hour), maintain.Policy{MinuteAfter: 24 * time.Hour, HourAfter: 72 * time.Hour})
	if len(report.Steps) != 2 {
		t.Fatalf("%+v", report)
	}
	compare(t, "by hour", ask(t, root), raw, shared)
	wantQuantiles(t, root, quantiles)
	for _, s := range report.Steps {
		if s.OutRows >= s.Rows {
			t.Errorf("%+v", s)
		}
	}

	straight := busyDates(t)
	runMaintenance(t, straight, end.Add(96*time.Hour), maintain.Policy{HourAfter: 72 * time.Hour})
	compare(t, "by hour at once", ask(t, straight), raw, shared)
}

// shared reports whether a result depends on how the cost of rows with unknown caller is distributed: by minute for
// raw rows and minute rollups, over the whole hour for hourly rollups.
func shared(name string) bool {
	return strings.HasPrefix(name, "edge ") || strings.HasSuffix(name, " self") || strings.HasSuffix(name, " self usd") || strings.HasSuffix(name, " orphan")
}

// quantilesOf returns the weighted quantiles of the wall time of each method.
func quantilesOf(t *testing.T, root string) map[string][3]float64 {
	t.Helper()
	type weighed struct{ x, w float64 }
	values := map[string][]weighed{}
	w, err := Open(context.Background(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	table, err := w.User(context.Background(), "SELECT method, measured, CAST(wall_ns AS DOUBLE), w_wall, wall_hist FROM method_cost WHERE w_wall IS NOT NULL", 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		method, weight := r[0].(string), r[3].(float64)
		bins, ok := r[4].([]any)
		if !ok {
			values[method] = append(values[method], weighed{r[2].(float64), weight})
			continue
		}
		for _, b := range bins {
			bin := b.(map[string]any)
			values[method] = append(values[method], weighed{methodspan.BinValue(bin["bin"].(int32)), weight * bin["n"].(float64)})
		}
	}
	out := map[string][3]float64{}
	for method, list := range values {
		slices.SortFunc(list, func(a, b weighed) int { return cmp.Compare(a.x, b.x) })
		total := 0.0
		for _, v := range list {
			total += v.w
		}
		var q [3]float64
		for i, share := range []float64{0.5, 0.9, 0.99} {
			sum := 0.0
			for _, v := range list {
				if sum += v.w; sum >= share*total*(1-1e-9) {
					q[i] = v.x
					break
				}
			}
		}
		out[method] = q
	}
	return out
}

// wantQuantiles requires the same quantiles within the 1% of a histogram bin.
func wantQuantiles(t *testing.T, root string, want map[string][3]float64) {
	t.Helper()
	for method, got := range quantilesOf(t, root) {
		for i, q := range got {
			if w := want[method][i]; math.Abs(q-w) > 0.0101*w {
				t.Errorf("%s: quantile %d is %v, of raw rows %v", method, i, q, w)
			}
		}
	}
}

// Rollup rows name groups of instances. If only some dates are rolled up, an instance is not counted again in its
// group.
func TestRollup_InstancesOfPartialRollup(t *testing.T) {
	midnight := fixture.Start.Truncate(24 * time.Hour)
	var commits [][]methodspan.Item
	for _, run := range []struct {
		service   string
		start     time.Time
		instances []string
	}{
		{"shop", fixture.Start.Add(-24 * time.Hour), []string{"a"}},
		{"bank", fixture.Start.Add(-24 * time.Hour), []string{"x", "y"}},
		{"shop", fixture.Start, []string{"a", "b", "c"}},
	} {
		items, _ := fixture.Shop{Seed: 1, Version: "1", Instances: run.instances, Start: run.start, Minutes: 3, Requests: 5}.Run()
		for _, item := range items {
			for _, row := range item.Rows {
				row.Resource.Service = run.service
			}
		}
		commits = append(commits, items)
	}
	root := fixture.Write(t, commits...)
	check := func(what string) {
		t.Helper()
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		got := map[string]int64{}
		bills, err := w.Bills(t.Context(), CostQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bills {
			got["bill of "+b.Name] = b.Instances
		}
		for _, group := range []string{"service", "environment"} {
			costs, err := w.Costs(t.Context(), CostQuery{TimeBucket: time.Hour, Group: []string{group}})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range costs.Groups {
				got[group+" "+g.Name+g.Environment] = g.Instances
			}
		}
		want := map[string]int64{"bill of bank": 2, "bill of shop": 3, "service bank": 2, "service shop": 3, "environment production": 5}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v instances, want %v", what, got, want)
		}
	}
	check("raw")
	runMaintenance(t, root, midnight.Add(36*time.Hour), maintain.Policy{MinuteAfter: 30 * time.Hour})
	check("the first date by minute")
	runMaintenance(t, root, midnight.Add(60*time.Hour), maintain.Policy{MinuteAfter: 30 * time.Hour, HourAfter: 54 * time.Hour})
	check("the first date by hour, the second by minute")
}

// Rows that arrive late for a rolled-up date are added as raw rows with their own weights. They are rolled up with the
// rest once no more rows arrive.
func TestRollup_LateRows(t *testing.T) {
	root := busyDates(t)
	end := fixture.Start.Truncate(24 * time.Hour).Add(24 * time.Hour)
	policy := maintain.Policy{MinuteAfter: 24 * time.Hour}
	runMaintenance(t, root, end.Add(48*time.Hour), policy)
	before := ask(t, root)
	late, truth := fixture.Shop{Seed: 9, Version: "1", Instances: []string{"late"}, Start: fixture.Start.Add(-24 * time.Hour), Minutes: 5, Requests: 7}.Run()
	fixture.Append(t, root, end.Add(49*time.Hour), late)
	withLate := ask(t, root)
	calls := 0.0
	for _, n := range truth.Calls {
		calls += float64(n)
	}
	if got := withLate["view calls"] - before["view calls"]; got != calls {
		t.Fatalf("%v calls were added, want %v", got, calls)
	}
	if report := runMaintenance(t, root, end.Add(49*time.Hour+time.Minute), policy); len(report.Steps) != 0 {
		t.Errorf("rolled up although rows may follow: %+v", report.Steps)
	}
	if report := runMaintenance(t, root, end.Add(51*time.Hour), policy); len(report.Steps) != 1 || report.Steps[0].Files != 2 {
		t.Errorf("%+v", report.Steps)
	}
	compare(t, "late rows", ask(t, root), withLate, shared)
}

// A query of some dates opens only their files, raw or rolled up.
func TestFiles_SelectedByWindow(t *testing.T) {
	root := busyDates(t)
	midnight := fixture.Start.Truncate(24 * time.Hour)
	bytes := func(window Window) (total int64) {
		w, err := Open(context.Background(), root, window)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, f := range w.Files {
			total += f.Bytes
		}
		return total
	}
	first, second := Window{To: midnight}, Window{From: midnight}
	check := func(what string) {
		if a, b, all := bytes(first), bytes(second), bytes(Window{}); a == 0 || b == 0 || a+b != all {
			t.Errorf("%s: %d bytes of the first date, %d of the second, %d of both", what, a, b, all)
		}
	}
	check("raw")
	rawFirst := bytes(first)
	runMaintenance(t, root, midnight.Add(36*time.Hour), maintain.Policy{MinuteAfter: 30 * time.Hour})
	check("the first date by minute")
	if bytes(first) >= rawFirst {
		t.Errorf("%d bytes by minute, %d raw", bytes(first), rawFirst)
	}
}

// Rows of every kind, probability and stratum, with cells of every size and known callers. Errors of the rollups show
// up in the totals.
func TestRollup_RandomRows(t *testing.T) {
	fixture.SkipLong(t)
	for seed := range uint64(4) {
		for _, n := range []int{50, 4000} {
			rows := fixture.RandomRows(rand.New(rand.NewPCG(seed, uint64(n))), n)
			for i := range rows {
				rows[i].Level, rows[i].Reason = methodspan.LevelRaw, ""
				rows[i].WeightBasis = methodspan.BasisExact
				if rows[i].Measured > 1 {
					rows[i].WallMaxNS, rows[i].CPUMaxNS = rows[i].WallNS, rows[i].CPUNS
				}
			}
			root := fixture.Write(t, fixture.Items("i", rows...))
			raw := ask(t, root)
			start := fixture.Start.Add(10 * 24 * time.Hour)
			runMaintenance(t, root, start, maintain.Policy{MinuteAfter: 24 * time.Hour})
			compare(t, fmt.Sprintf("seed %d rows %d by minute", seed, n), ask(t, root), raw, ofRuns)
			runMaintenance(t, root, start, maintain.Policy{HourAfter: 24 * time.Hour})
			compare(t, fmt.Sprintf("seed %d rows %d by hour", seed, n), ask(t, root), raw, ofRuns)
		}
	}
}

// ofRuns reports whether a result counts how often a version came and went: an hourly rollup hides gaps within an hour.
func ofRuns(name string) bool { return strings.HasPrefix(name, "runs ") }
