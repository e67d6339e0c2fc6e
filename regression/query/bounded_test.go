package query

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/fixture"
)

// extremes are rows each of which has one number at the edge of what can be, or beyond it.
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
		} {
			add(set)
		}
	}
	for _, x := range []float64{math.Inf(-1), -1e300, -2, -1e-18, -1e-19, -5e-324, 5e-324, 1e-300, 1e-37, 1e-36, 1e-19, 1e-18, 1, methodspan.MostCores, methodspan.MostCores + 1, 1e18, methodspan.MostTime, 1e19, 1e36, 1e37, 1e300, 2e300, math.Inf(1), math.NaN()} {
		for _, set := range []func(r *methodspan.Row){
			func(r *methodspan.Row) { r.Calls = x }, func(r *methodspan.Row) { r.Errors = x },
			func(r *methodspan.Row) { r.WallSq = x }, func(r *methodspan.Row) { r.CPUSq = x },
			func(r *methodspan.Row) { r.P = x }, func(r *methodspan.Row) { r.CPUP = x }, func(r *methodspan.Row) { r.P, r.CPUP = x, x },
			func(r *methodspan.Row) { r.P, r.CPUP = 1e300, x }, // weightless in wall time
			func(r *methodspan.Row) { r.USDPerCoreHour = &x },
			func(r *methodspan.Row) { r.Process.Cores = x }, func(r *methodspan.Row) { r.Process.HostCores = x }, func(r *methodspan.Row) { r.Process.CPULimit = x },
		} {
			add(set)
		}
	}
	return rows
}

// What a view reads of a row is what Row.Bound leaves of it, alone and next to others.
func TestBoundsAreThoseOfRows(t *testing.T) {
	rows := extremes()
	together := fixture.Write(t, fixture.Items("a-1", rows...))
	const columns = `calls, measured, cpu_measured, errors, COALESCE(wall_ns, 0), COALESCE(cpu_ns, 0), COALESCE(wall_sq, 0), COALESCE(cpu_sq, 0), COALESCE(wall_max_ns, 0), COALESCE(cpu_max_ns, 0),
		COALESCE(p, 0), COALESCE(cpu_p, 0), COALESCE(usd_per_core_hour, -1), COALESCE(cores, 0), COALESCE(host_cores, 0), COALESCE(cpu_limit, 0), COALESCE(rss_bytes, 0), COALESCE(calls_total, 0)`
	got := lines(t, together, "SELECT row_seq, "+columns+" FROM method_calls ORDER BY row_seq")
	if len(got) != len(rows) {
		t.Fatalf("%d rows, want %d", len(got), len(rows))
	}
	for i := range rows {
		want := rows[i]
		process := *want.Process
		want.Process = &process
		if want.Measured <= 0 { // files have no times then
			want.WallNS, want.WallSq, want.WallMaxNS = 0, 0, 0
		}
		if want.CPUMeasured <= 0 {
			want.CPUNS, want.CPUSq, want.CPUMaxNS = 0, 0, 0
		}
		want.Bound()
		usd := -1.0
		if want.USDPerCoreHour != nil {
			usd = *want.USDPerCoreHour
		}
		p := want.Process
		if text := fmt.Sprint(i, want.Calls, want.Measured, want.CPUMeasured, want.Errors, want.WallNS, want.CPUNS, want.WallSq, want.CPUSq, want.WallMaxNS, want.CPUMaxNS,
			want.P, want.CPUP, usd, p.Cores, p.HostCores, p.CPULimit, p.RSSBytes, p.CallsTotal); text != got[i] {
			t.Errorf("%s row %d:\n%s, want\n%s", rows[i].Level, i, got[i], text)
		}
	}
}

// Rows that were added up have weights below zero, and may be weightless in wall time alone.
func TestWeightsOfSumsStay(t *testing.T) {
	rows := extremes()[:4]
	for i, p := range [][2]float64{{-2, 0.5}, {1e300, 5e-301}, {0.5, 2e300}, {-1e300, -1e-300}} {
		rows[i].Level, rows[i].P, rows[i].CPUP = methodspan.LevelHour, p[0], p[1]
	}
	got := lines(t, fixture.Write(t, fixture.Items("a-1", rows...)), "SELECT p, p * cpu_p FROM method_calls ORDER BY row_seq")
	if want := []string{"-2 -1", "1e+300 0.5", "0.5 1e+300", "-1e+300 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
