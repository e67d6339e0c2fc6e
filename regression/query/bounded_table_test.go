package query

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fixture"
	served "github.com/corehour/corehour/test/fixture/remote"
)

// spoiltRows returns rows of service bad with numbers at the edge of the valid range or beyond it, alone and in
// combination.
func spoiltRows() []methodspan.Row {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := slices.DeleteFunc(extremes(), func(r methodspan.Row) bool { return r.Level != methodspan.LevelRaw })
	pick := func(values ...float64) float64 { return values[rng.IntN(len(values))] }
	whole := func(values ...int64) int64 { return values[rng.IntN(len(values))] }
	histogram := func() methodspan.Histogram {
		if rng.IntN(2) == 0 {
			return nil
		}
		return methodspan.Histogram{{Bin: int32(whole(-1, 0, 100, int64(methodspan.MaxBin), 40_000)), N: pick(-1, 0, 1e-300, 1e-18, 5, methodspan.MostTime, 1e300)}}
	}
	for range 800 {
		price := pick(0, 0.05, methodspan.MostUSD, 1e300)
		rows = append(rows, methodspan.Row{
			Calls: pick(0, 5e-324, 1e-300, leastCalls, 1, 100, methodspan.MostTime, 1e300), Errors: pick(0, 1, methodspan.MostTime),
			Measured: whole(1, 2, methodspan.MostMeasured, methodspan.MostMeasured, math.MaxInt64), CPUMeasured: whole(0, 1, 2, methodspan.MostMeasured, math.MaxInt64),
			WallNS: whole(0, 1, 1e9, methodspan.MostTime, math.MaxInt64), CPUNS: whole(0, 1, 1e9, methodspan.MostTime, math.MinInt64), WallHist: histogram(), CPUHist: histogram(),
			P: pick(1e-300, methodspan.LeastP, 1e-9, 0.5, 1, 1e300), CPUP: pick(1e-300, methodspan.LeastP, 1e-9, 0.5, 1, 1/methodspan.LeastP, 1e300), USDPerCoreHour: &price,
		})
	}
	kinds := []string{methodspan.KindCall, methodspan.KindAggregate, methodspan.KindCounts, methodspan.KindProcess}
	for i := range rows {
		r := &rows[i]
		start := fixture.Start.Add(time.Duration(rng.IntN(24)) * time.Minute).UnixNano()
		r.Resource = &methodspan.Resource{
			ServiceNamespace: "store", Service: "bad", Version: fmt.Sprint(1 + i%2), Environment: "production", Instance: fmt.Sprintf("bad-%d", i%5), Host: "bad-host", CloudProvider: "bad-cloud",
			ProcessStartNS: whole(fixture.Start.UnixNano(), fixture.Start.UnixNano(), math.MaxInt64, math.MinInt64),
		}
		if r.EndNS == 0 || r.EndNS == r.StartNS+1000 {
			r.EndNS = start + whole(0, 1e9, 60e9)
		}
		r.Level, r.Kind, r.StartNS, r.WeightBasis = methodspan.LevelRaw, kinds[i%4], start, []string{methodspan.BasisExact, methodspan.BasisThreshold}[i%3/2]
		if r.Kind == methodspan.KindProcess {
			if r.Process == nil {
				r.Process = &methodspan.ProcessStats{Cores: pick(1e-300, 1, 1e300), HostCores: pick(0, 1, 65536), CPULimit: pick(0, 1e-300, 65536), CallsTotal: whole(0, 5, math.MaxInt64)}
			}
			r.CPUMeasured = 1
			continue
		}
		r.Process, r.Class, r.Method, r.Group = nil, "bad/pkg", fmt.Sprintf("M%d", rng.IntN(9)), "bad"
		r.Caller = []string{"", "(entry)", "bad/pkg.M1", "bad/pkg.M2"}[rng.IntN(4)]
		r.Stratum = []string{"", "", methodspan.StratumTail}[rng.IntN(3)]
		if r.Kind == methodspan.KindCounts {
			r.Measured, r.CPUMeasured, r.P = 0, 0, 0
		}
	}
	for range 1100 { // more measurements than an INT64 holds
		rows = append(rows, methodspan.Row{
			Resource: &methodspan.Resource{ServiceNamespace: "store", Service: "bad", Version: "1", Environment: "production", Instance: "bad-0", ProcessStartNS: fixture.Start.UnixNano()},
			Kind:     methodspan.KindAggregate, Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact, StartNS: fixture.Start.UnixNano(), EndNS: fixture.Start.UnixNano() + 1,
			Class: "bad/pkg", Method: "Sum", Group: "bad", P: 1, CPUP: 1, Measured: methodspan.MostMeasured, CPUMeasured: methodspan.MostMeasured, WallNS: 1, CPUNS: 1,
		})
	}
	return rows
}

// Impossible numbers of one service do not make a statement for BigQuery fail, where overflow is an error, nor do they
// change the results of others. No step of a statement overflows.
func TestBounds_NoOverflowInBigQuery(t *testing.T) {
	fixture.SkipLong(t)
	var good []methodspan.Item
	for version := range 2 {
		shop := fixture.Shop{Seed: uint64(version), Version: fmt.Sprint(1 + version), Instances: []string{"a", "b"}, Start: fixture.Start.Add(time.Duration(version) * 12 * time.Minute),
			Minutes: 12, Requests: 4, Rate: map[string]float64{fixture.Total: 0.5, fixture.Rate: 0.3}}
		items, _ := shop.Run()
		good = append(good, items...)
	}
	clean, spoilt := opened(t, good), opened(t, good, fixture.Items("bad-1", spoiltRows()...))
	for _, name := range []string{"shop", "bad"} {
		all := statementsOf(t, Filter{}, &Service{Namespace: "store", Name: name, Environment: "production"})
		all["user"] = strings.Replace(all["user"], "STATEMENT", "SELECT service, version, method, SUM(w * cpu_ns) AS ns, SUM(cost_usd) AS usd, SUM(w_wall * errors) AS errors FROM method_cost GROUP BY service, version, method", 1)
		delete(all, "view_of_method_cost")   // the same for the last month
		delete(all, "assumed_no_frameworks") // contains @ in a string literal
		for _, statement := range slices.Sorted(maps.Keys(all)) {
			text := all[statement]
			ofOne := strings.Contains(text, "= @service ")
			if name == "bad" && !ofOne {
				continue
			}
			got := ofOthers(t, spoilt, name, statement, text)
			if want := ofOthers(t, clean, name, statement, text); !slices.Equal(got, want) && statement != "extent" && name == "shop" {
				t.Errorf("%s: %d rows, without the other service %d:\n%s", statement, len(got), len(want), firstOfDifference(got, want))
			}
			if name == "shop" && ofOne {
				continue
			}
			if main := regexp.MustCompile(`(?m)^SELECT`).FindStringIndex(text); statement != "user" && main != nil {
				var steps []string
				for _, step := range regexp.MustCompile(`(?m)^(?:WITH )?([a-z_]+) AS +\($`).FindAllStringSubmatch(text[:main[0]], -1) {
					steps = append(steps, "(SELECT MIN(COLUMNS(*)), MAX(COLUMNS(*)) FROM "+step[1]+")")
				}
				if steps != nil {
					ofOthers(t, spoilt, name, statement+", all steps", text[:main[0]]+"SELECT * FROM "+strings.Join(steps, ", "))
				}
			}
		}
	}
}

func opened(t *testing.T, commits ...[]methodspan.Item) *Warehouse {
	t.Helper()
	_, address := served.Serve(t, fixture.Write(t, commits...))
	w, err := Open(t.Context(), address+"&max_bytes_billed=9000000000000000", Window{From: fixture.Start.Add(-time.Hour), To: fixture.Start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// ofOthers runs a statement and returns the result rows that are not about service bad.
func ofOthers(t *testing.T, w *Warehouse, service, name, text string) (lines []string) {
	t.Helper()
	from, to := w.Window.nanos()
	args := map[string]any{
		"from_ns": from, "to_ns": to, "raw_from_ns": from, "read_to_ns": to, "slot_ns": int64(time.Minute), "bucket_ns": int64(5 * time.Minute), "begin_ns": from, "daily": int64(0), "by_age": int64(1),
		"warm_up_ns": int64(time.Minute), "unit_ns": int64(time.Minute), "service_namespace": "store", "service": service, "environment": "production", "base_version": "1", "head_version": "2",
	}
	tables := map[string]smallTable{
		"compared": {columns: append(textColumns("service_namespace", "service", "environment", "version", "side"), longColumns("from_ns", "to_ns", "slot_ns")...)},
		"members":  {columns: append(textColumns("side", "instance"), longColumns("process_start_ns", "member", "warm_ns")...)},
		"chosen":   {columns: textColumns("service_namespace", "service", "environment", "class", "method")},
		"owned":    {columns: textColumns("service_namespace", "service", "environment", "class", "owner")},
		"repriced": {columns: textColumns("cloud_provider", "region", "host_type", "capacity_type", "usd_per_core_hour", "listed"), rows: [][]any{{nil, nil, nil, nil, "0.05", nil}, {"bad-cloud", nil, nil, nil, "1e6", nil}}},
	}
	row := func(table string, cells ...any) {
		s := tables[table]
		s.rows = append(s.rows, cells)
		tables[table] = s
	}
	for side, version := range map[string]string{"base": "1", "head": "2"} {
		for member, instance := range []string{"a", "b", "bad-0", "bad-1", "bad-2", "bad-3", "bad-4"} {
			row("members", side, instance, fixture.Start.UnixNano(), int64(member), from)
		}
		for _, name := range []string{"shop", "bad"} {
			row("compared", "store", name, "production", version, side, from, to, int64(time.Minute))
		}
	}
	for _, function := range []string{fixture.Total, fixture.Rate, "bad/pkg.M1", "bad/pkg.M2"} {
		f := methodspan.ParseFunction(function)
		name := "shop"
		if f.Class == "bad/pkg" {
			name = "bad"
		}
		row("chosen", "store", name, "production", f.Class, f.Method)
		row("owned", "store", name, "production", f.Class, "owner of "+f.Class)
	}
	named := []any{}
	for k, v := range w.remote.arguments(name, text, args, tables) {
		if k == bigquery.ArgumentName {
			v = regexp.MustCompile(`\W`).ReplaceAllString(name, "_")
		}
		named = append(named, sql.Named(k, v))
	}
	rows, err := w.db.QueryContext(t.Context(), w.remote.dataset.Qualify(text), named...)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, c := range cells {
			if x, ok := c.(float64); ok {
				cells[i] = fmt.Sprintf("%.6g", x) // summed by several threads
			}
		}
		if line := fmt.Sprint(cells...); !strings.Contains(line, "bad") {
			lines = append(lines, line)
		}
	}
	if err := rows.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	slices.Sort(lines)
	return lines
}

func firstOfDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("%v\n%v", got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
	}
	return ""
}

// Values within the limits fit in a FLOAT64 at every step of the sums over 10^12 rows.
func TestBounds_SumsFit(t *testing.T) {
	const rows, lastDigit = 1e12, 0x1p-53
	leastQ, mostQ := methodspan.LeastP*methodspan.LeastP, 1/methodspan.LeastP
	n, x, leastN := methodspan.MostMeasured/leastQ, methodspan.MostTime/leastQ, 1/mostQ // for one row
	// A difference of sums is a multiple of the last digit of the smallest number in the sums.
	leastLeft := min(leastCalls, leastN) * lastDigit
	scale := 1 + rows*n/leastLeft
	leastFactor := leastLeft / (rows * n)
	leastFlow := leastFactor * leastN * lastDigit
	flow := clamps["factor"] * rows * n
	self := clamps["factor"] * rows * x * clamps["share"] * rows
	residual := self + clamps["mean"]*flow*rows
	longest := math.Exp(float64(methodspan.MaxBin+1)*math.Log(methodspan.Gamma)) / 1e6
	for step, most := range map[string]float64{
		"squares of weights":  n / leastQ * rows,
		"effective records":   rows * n * rows * n,
		"factor of a cell":    scale * rows * n / leastN,
		"share of a caller":   flow / leastFlow,
		"mean of a method":    self / leastFlow,
		"squares of clusters": self * self * rows,
		"squares of residual": residual * residual * rows,
		"cubes of residual":   clamps["residual"] * clamps["residual"] * clamps["residual"] * rows,
		"dollars":             self * methodspan.MostUSD,
		"wall time of CPU":    methodspan.MostTime * methodspan.MostMeasured / leastQ * clamps["factor"] * rows,
		"times of bins":       clamps["factor"] / leastQ * methodspan.MostTime * float64(methodspan.MaxBin) * methodspan.MostTime * rows,
		"quantile of bins":    clamps["factor"] / leastQ * methodspan.MostTime * rows / (leastFactor / mostQ * methodspan.LeastP * lastDigit),
		"cubes of times":      methodspan.MostTime / leastQ * longest * longest * longest * rows,
		"cores of a host":     methodspan.MostTime * methodspan.MostTime * methodspan.MostUSD * rows,
	} {
		if !(most < math.MaxFloat64) {
			t.Errorf("%s: %g", step, most)
		}
	}
}
