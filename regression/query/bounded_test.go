package query

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// extremes returns rows that each have one number at the edge of the valid range or beyond it.
func extremes() (rows []methodspan.Row) {
	start := fixture.Start.UnixNano()
	add := func(spoil func(r *methodspan.Row)) {
		for _, level := range []string{methodspan.LevelRaw, methodspan.LevelHour} {
			price := 0.05
			r := methodspan.Row{
				Resource: &methodspan.Resource{Service: "shop", Version: "1"}, Kind: methodspan.KindProcess, Level: level,
				StartNS: start, EndNS: start + 1000, Calls: 20, Measured: 10, CPUMeasured: 5, Errors: 1, WallNS: 800, CPUNS: 400, WallSq: 1e5, CPUSq: 1e5,
				WallMaxNS: 100, CPUMaxNS: 90, P: 0.5, CPUP: 0.5, USDPerCoreHour: &price, WeightBasis: methodspan.BasisExact, CPUState: methodspan.CPUExact,
				Process: &methodspan.ProcessStats{Cores: 2, HostCores: 4, CPULimit: 1, RSSBytes: 1 << 20, CallsTotal: 30},
			}
			spoil(&r)
			rows = append(rows, r)
		}
	}
	add(func(*methodspan.Row) {})
	for _, n := range []int64{math.MinInt64, -1, methodspan.MostMeasured, methodspan.MostMeasured + 1, methodspan.MostTime, methodspan.MostTime + 1, math.MaxInt64} {
		for _, set := range []func(r *methodspan.Row){
			func(r *methodspan.Row) { r.Measured = n }, func(r *methodspan.Row) { r.CPUMeasured = n },
			func(r *methodspan.Row) { r.WallNS = n }, func(r *methodspan.Row) { r.CPUNS = n },
			func(r *methodspan.Row) { r.WallMaxNS = n }, func(r *methodspan.Row) { r.CPUMaxNS = n },
			func(r *methodspan.Row) { r.Process.RSSBytes = n }, func(r *methodspan.Row) { r.Process.CallsTotal = n },
			func(r *methodspan.Row) { r.EndNS = n },
		} {
			add(set)
		}
	}
	for _, x := range []float64{math.Inf(-1), -1e300, -2, -1e-18, -1e-19, -5e-324, 5e-324, 1e-300, 1e-37, 1e-36, 1e-19, 1e-18, 1, methodspan.MostCores, methodspan.MostCores + 1, 1e18, methodspan.MostTime, 1e19, 1e36, 1e37, 1e300, 2e300, math.Inf(1), math.NaN()} {
		for _, set := range []func(r *methodspan.Row){
			func(r *methodspan.Row) { r.Calls = x }, func(r *methodspan.Row) { r.Errors = x },
			func(r *methodspan.Row) { r.WallSq = x }, func(r *methodspan.Row) { r.CPUSq = x },
			func(r *methodspan.Row) { r.P = x }, func(r *methodspan.Row) { r.CPUP = x }, func(r *methodspan.Row) { r.P, r.CPUP = x, x },
			func(r *methodspan.Row) { r.P, r.CPUP = 1e300, x }, // no weight in wall time
			func(r *methodspan.Row) { r.USDPerCoreHour = &x },
			func(r *methodspan.Row) { r.Process.Cores = x }, func(r *methodspan.Row) { r.Process.HostCores = x }, func(r *methodspan.Row) { r.Process.CPULimit = x },
		} {
			add(set)
		}
	}
	return rows
}

// A view reads the values of a row as Row.Bound limits them. After compact it reads the same values without
// checks of the values.
func TestBounds_EqualRowBounds(t *testing.T) {
	rows := extremes()
	root := fixture.Write(t, fixture.Items("a-1", rows...))
	const columns = `end_ns, calls, measured, cpu_measured, errors, COALESCE(wall_ns, 0), COALESCE(cpu_ns, 0), COALESCE(wall_sq, 0), COALESCE(cpu_sq, 0), COALESCE(wall_max_ns, 0), COALESCE(cpu_max_ns, 0),
		COALESCE(p, 0), COALESCE(cpu_p, 0), COALESCE(usd_per_core_hour, -1), COALESCE(cores, 0), COALESCE(host_cores, 0), COALESCE(cpu_limit, 0), COALESCE(rss_bytes, 0), COALESCE(calls_total, -1)`
	const statement = "SELECT row_seq, " + columns + " FROM method_calls ORDER BY row_seq"
	got := lines(t, root, statement)
	if len(got) != len(rows) {
		t.Fatalf("%d rows, want %d", len(got), len(rows))
	}
	wrong := int64(0)
	for _, r := range stored(t, root) {
		if r.Bound(methodspan.Until(time.Now())) {
			wrong++
		}
	}
	for i := range rows {
		want := rows[i]
		process := *want.Process
		want.Process = &process
		want.Bound(methodspan.Until(time.Now()))
		usd := -1.0
		if want.USDPerCoreHour != nil {
			usd = *want.USDPerCoreHour
		}
		p := want.Process
		if text := fmt.Sprint(i, want.EndNS, want.Calls, want.Measured, want.CPUMeasured, want.Errors, want.WallNS, want.CPUNS, want.WallSq, want.CPUSq, want.WallMaxNS, want.CPUMaxNS,
			want.P, want.CPUP, usd, p.Cores, p.HostCores, p.CPULimit, p.RSSBytes, p.CallsTotal); text != got[i] {
			t.Errorf("%s row %d:\n%s, want\n%s", rows[i].Level, i, got[i], text)
		}
	}
	if look, impossible := boundsIn(t, root); len(look) != len(often)+1 || len(impossible) != 1 || impossible[0].Rows != wrong {
		t.Errorf("to look at: %v, impossible: %+v, want %d rows", look, impossible, wrong)
	}

	job := maintain.Job{Root: root, Parquet: table.Options{Now: func() time.Time { return fixture.Start.Add(time.Hour) }}}
	for range 2 {
		report, err := job.DropImpossible(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		named := int64(0)
		for _, i := range report.Impossible {
			named += i.Rows
		}
		if named != wrong || (len(report.Steps) > 0) != (wrong > 0) {
			t.Errorf("compact names %d rows, want %d: %+v", named, wrong, report)
		}
		wrong = 0
		for i, line := range lines(t, root, statement) {
			if line != got[i] {
				t.Errorf("%s row %d:\n%s after compact, was\n%s", rows[i].Level, i, line, got[i])
			}
		}
		// Rollup rows have negative weights; the statistics of row groups do not cover those.
		if look, impossible := boundsIn(t, root); !maps.Equal(look, map[string]bool{"p": true, "cpu_p": true}) || len(impossible) > 0 {
			t.Errorf("after compact to look at: %v, impossible: %+v", look, impossible)
		}
	}
}

// stored returns the rows of a warehouse of one file, which has no negative CPU limit or number of host cores.
func stored(t *testing.T, root string) []methodspan.Row {
	t.Helper()
	s, err := table.Open(root)
	if err != nil || len(s.Files) != 1 {
		t.Fatal(s, err)
	}
	rows, err := parquet.ReadRows(s.Files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func boundsIn(t *testing.T, root string) (map[string]bool, []Impossible) {
	t.Helper()
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	impossible, err := w.Impossible(t.Context(), Window{}, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return w.bounds.look, impossible
}

// Rollup rows can have negative weights, and can have no weight in wall time alone.
func TestBounds_KeepRollupWeights(t *testing.T) {
	rows := extremes()[:4]
	for i, p := range [][2]float64{{-2, 0.5}, {1e300, 5e-301}, {0.5, 2e300}, {-1e300, -1e-300}} {
		rows[i].Level, rows[i].P, rows[i].CPUP = methodspan.LevelHour, p[0], p[1]
	}
	got := lines(t, fixture.Write(t, fixture.Items("a-1", rows...)), "SELECT p, p * cpu_p FROM method_calls ORDER BY row_seq")
	if want := []string{"-2 -1", "1e+300 0.5", "0.5 1e+300", "-1e+300 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Text columns with one value in all rows are not read from files. Columns that differ between rows or files are.
func TestOpen_ConstantTextColumns(t *testing.T) {
	rows := func(service, version, signature string) []methodspan.Row {
		r := methodspan.Row{
			Resource: &methodspan.Resource{Service: service, Version: version, Revision: "it's", Environment: "a\x01"},
			Kind:     methodspan.KindCounts, StartNS: fixture.Start.UnixNano(), EndNS: fixture.Start.UnixNano(), Class: "a", Method: "B", Calls: 1,
		}
		signed := r
		signed.Signature = signature
		return []methodspan.Row{r, signed}
	}
	root := t.TempDir()
	fixture.Append(t, root, fixture.Start, fixture.Items("a-1", rows("shop", "1", "()")...))
	fixture.Append(t, root, fixture.Start, fixture.Items("a-2", rows("shop", "2", "")...))
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	same := strings.Join(w.bounds.same, ", ")
	for _, want := range []string{"'it''s' AS revision", "'shop' AS service", "'raw' AS level", "'B' AS method", "CAST(NULL AS VARCHAR) AS caller", "CAST(NULL AS VARCHAR) AS stratum"} {
		if !strings.Contains(same, want) {
			t.Errorf("%s: want %s", same, want)
		}
	}
	for _, column := range []string{"version", "signature", "environment", "batch_id"} {
		if slices.ContainsFunc(w.bounds.same, func(s string) bool { return strings.HasSuffix(s, " AS "+column) }) {
			t.Errorf("%s: %s is read", same, column)
		}
	}
	const texts = "SELECT service, version, revision, environment, signature, level, caller, batch_id FROM "
	if got, want := lines(t, root, texts+"method_calls ORDER BY batch_id, row_seq"), lines(t, root, texts+"method_stored ORDER BY batch_id, row_seq"); len(got) != 4 || !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
