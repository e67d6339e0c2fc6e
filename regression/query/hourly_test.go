package query

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// keepSums writes hourly rollups of the rows of all closed days.
func keepSums(t *testing.T, root string, now time.Time) {
	t.Helper()
	job := maintain.Job{
		Root: root, Policy: maintain.Policy{MaxFiles: maintain.DefaultMaxFiles, SumRows: 1},
		Parquet: table.Options{Now: func() time.Time { return now }},
	}
	report, err := job.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Steps, func(s maintain.Step) bool { return s.Action == maintain.Sum }) {
		t.Fatalf("no sums were made: %+v", report)
	}
}

// lakesWithSums returns warehouses of rows whose callers are all known, with hourly rollups: one of a single
// collector, and one of two collectors, where one has rolled up its own rows by minute.
func lakesWithSums(t *testing.T) map[string]string {
	t.Helper()
	items := randomItems(31, 5000)
	for i := range items {
		for k := range items[i].Rows {
			if r := &items[i].Rows[k]; r.Kind != methodspan.KindProcess && r.Measured > 0 {
				r.Caller = []string{"(entry)", "cart.Cart.Add", "Total", "elsewhere.F"}[(i+k)%4]
				r.Signature = []string{"", "func()", "func(int)"}[k%3]
			}
		}
	}
	end := fixture.Start.Add(10 * 24 * time.Hour)
	one := fixture.Write(t, items)
	keepSums(t, one, end)
	roots := spread(t, 2, items)
	runMaintenance(t, roots[1], end, maintain.Policy{MinuteAfter: 24 * time.Hour})
	for _, root := range roots {
		keepSums(t, root, end)
	}
	return map[string]string{"one collector": one, "two, one by minute": together(t, roots)}
}

// Statements about whole hours return the same results from rollups as from rows, including the squares for
// standard errors. Where windows cut hours, or time buckets are not whole hours, they read rows.
func TestHourlyRollup_EqualsRows(t *testing.T) {
	fixture.SkipLong(t)
	day := fixture.Start.UTC().Truncate(24 * time.Hour)
	for name, root := range lakesWithSums(t) {
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		if len(w.sums) < 2 {
			t.Fatalf("%s: rollups of %d dates", name, len(w.sums))
		}
		sums := w.sums
		for _, timeBucket := range []time.Duration{time.Hour, 25 * time.Hour, 90 * time.Minute} {
			for _, window := range []Window{{}, {day.Add(5 * time.Hour), day.Add(31 * time.Hour)}, {day.Add(3*time.Hour + 17*time.Minute + 13*time.Second), day.Add(26*time.Hour + 40*time.Second)}} {
				where := fmt.Sprintf("%s, slots of %v, window from %v", name, timeBucket, window.From)
				for _, m := range []Metric{CPU, Wall} {
					w.sums = sums
					summed, bins := everySum(t, w, m, window, timeBucket), everyBin(t, w, window)
					w.sums = nil
					nearlySame(t, where+", "+string(m), summed, everySum(t, w, m, window, timeBucket))
					nearlySame(t, where, bins, everyBin(t, w, window))
				}
			}
		}
		w.sums = sums
		d, err := w.hourly(t.Context(), []Window{{}}, time.Hour, 3*time.Hour)
		if err != nil || !d.Hourly || d.Finer {
			t.Errorf("%s: %+v, %v: want all dates read by hour", name, d, err)
		}
		for _, timeBuckets := range [][]time.Duration{{90 * time.Minute}, {time.Hour, time.Minute}, {0}} {
			if d, err := w.hourly(t.Context(), []Window{{}}, timeBuckets...); err != nil || d.Hourly {
				t.Errorf("%s: slots of %v: %+v, %v: want rows", name, timeBuckets, d, err)
			}
		}
		wholeVersions(t, w, sums)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wholeVersions compares versions from their first row to their last row, which can be anywhere in an hour. The
// rollups of these hours contain no other rows of the version.
func wholeVersions(t *testing.T, w *Warehouse, sums []table.Sums) {
	t.Helper()
	for _, whole := range []bool{true, false} {
		ask := ProfileQuery{Metric: CPU}
		rows, err := w.db.QueryContext(t.Context(), "SELECT service_namespace, service, environment, version, MIN(start_ns), MAX(start_ns) FROM method_calls WHERE version IN ('1', '2') GROUP BY ALL")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			c := Compared{Side: SideBase, TimeBucket: time.Hour, Whole: whole}
			var first, last int64
			if err := rows.Scan(nullable(&c.Namespace), nullable(&c.Name), nullable(&c.Environment), &c.Version, &first, &last); err != nil {
				t.Fatal(err)
			}
			if c.Version == "2" {
				c.Side = SideHead
			}
			c.Window = Window{timeOf(first), timeOf(last + 1)}
			ask.Compared = append(ask.Compared, c)
		}
		if err := rows.Err(); err != nil || len(ask.Compared) < 2 {
			t.Fatal(ask.Compared, err)
		}
		said := func() map[string][]float64 {
			profiles, edges, err := w.Profiles(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			out := map[string][]float64{}
			for _, p := range profiles {
				out[fmt.Sprintf("%q", []any{p.Service, p.Version, p.Side, p.Full, p.Signature})] = []float64{float64(p.Records), float64(p.Clusters), p.N, p.X, p.SelfX, p.NN, p.NX, p.XX, p.NS, p.SS, p.SelfUSD}
			}
			for _, e := range edges {
				out[fmt.Sprintf("%q", []any{e.Service, e.Side, e.Caller, e.Callee})] = []float64{e.N, e.X}
			}
			return out
		}
		windows, timeBuckets := ask.pieces()
		w.sums = sums
		summed := said()
		d, err := w.hourly(t.Context(), windows, timeBuckets...)
		cut := map[string]bool{}
		for _, s := range sums {
			for _, c := range ask.Compared {
				cut[s.Date] = cut[s.Date] || c.Window.cuts(s.Date)
			}
		}
		if err != nil || whole && (len(windows) > 0 || !d.Hourly) || len(cut) == 0 {
			t.Errorf("whole %v: %v, %v, cut are %v", whole, d.Hourly, err, cut)
		}
		w.sums = nil
		nearlySame(t, fmt.Sprintf("versions, whole %v", whole), summed, said())
	}
}

// everyBin returns the histogram bins behind the percentiles, except those of WallOfBoth: a rollup row does not record
// which of its calls had both times.
func everyBin(t *testing.T, w *Warehouse, window Window) map[string][]float64 {
	t.Helper()
	spreads, err := w.Spreads(t.Context(), window, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for _, s := range spreads {
		for _, b := range s.Bins {
			if s.Metric == WallOfBoth {
				break
			}
			out[fmt.Sprintf("%q %s bin %d", s.MethodName, s.Metric, b.Bin)] = []float64{b.N}
		}
	}
	return out
}

// nearlySame allows for the rounding of times in rollup rows to whole nanoseconds.
func nearlySame(t *testing.T, where string, said, want map[string][]float64) {
	t.Helper()
	if len(said) != len(want) {
		t.Errorf("%s: %d methods, want %d", where, len(said), len(want))
	}
	wrong := 0
	for key, values := range want {
		for i, v := range values {
			if got := said[key]; len(got) != len(values) || math.Abs(got[i]-v) > 3e-6*math.Max(math.Abs(v), 1) {
				if wrong++; wrong <= 10 {
					t.Errorf("%s: %s: figure %d of %v, want %v", where, key, i, got, v)
				}
			}
		}
	}
}

// A window that begins or ends within an hour cuts the date of that hour. Only such dates are read row by row, and no
// row is read in addition to its rollup.
func TestHourlyRollup_PartialDatesReadRows(t *testing.T) {
	root := lakesWithSums(t)["one collector"]
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dates := map[string]bool{}
	for _, f := range w.Files {
		dates[f.Date] = true
	}
	day := fixture.Start.UTC().Truncate(24 * time.Hour)
	for _, c := range []struct {
		windows []Window
		cut     []string
	}{
		{[]Window{{}}, nil},
		{[]Window{{day.Add(5 * time.Hour), day.Add(7 * time.Hour)}}, nil},
		{[]Window{{day.Add(time.Nanosecond), day.Add(24 * time.Hour)}}, []string{dateOf(day)}},
		{[]Window{{day, time.Time{}}, {time.Time{}, day.Add(-time.Minute)}}, []string{dateOf(day.Add(-time.Minute))}},
	} {
		d, err := w.hourly(t.Context(), c.windows, time.Hour)
		if err != nil || !d.Hourly {
			t.Fatalf("%v: %+v, %v", c.windows, d, err)
		}
		got := map[string]map[string]bool{}
		rows, err := w.db.QueryContext(t.Context(), "SELECT DISTINCT strftime(make_timestamp(start_ns // 1000), '%Y-%m-%d'), level FROM "+d.Rows())
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var date, level string
			if err := rows.Scan(&date, &level); err != nil {
				t.Fatal(err)
			}
			if got[date] == nil {
				got[date] = map[string]bool{}
			}
			got[date][level] = true
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		for date := range dates {
			want := methodspan.LevelHour
			if slices.Contains(c.cut, date) {
				want = methodspan.LevelRaw
			}
			if len(got[date]) != 1 || !got[date][want] {
				t.Errorf("%v: of %s rows of level %v were read, want %s", c.windows, date, got[date], want)
			}
		}
	}
}

// Rows that arrive after the rollup of their date are read in addition to it. Damaged rollups are reported by
// Verify and not read.
func TestHourlyRollup_LateRowsAndDamage(t *testing.T) {
	items := randomItems(5, 1000)
	root := fixture.Write(t, items)
	keepSums(t, root, fixture.Start.Add(10*24*time.Hour))
	calls := func() (hourly, plain float64) {
		t.Helper()
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		count := func() (n float64) {
			costs, err := w.Costs(t.Context(), CostQuery{TimeBucket: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range costs.Methods {
				n += m.Calls
			}
			return n
		}
		hourly = count()
		w.sums = nil
		return hourly, count()
	}
	before, plain := calls()
	if before != plain || before == 0 {
		t.Fatalf("%v calls by the sums, %v by the rows", before, plain)
	}
	late := fixture.Items("late", randomItems(6, 50)[0].Rows...)
	writer, err := table.NewWriter(root, table.Options{Now: func() time.Time { return fixture.Start.Add(24 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	after, plain := calls()
	if math.Abs(after-plain) > 1e-9*plain || after <= before {
		t.Fatalf("%v calls by the sums and late rows, %v by all rows, %v before", after, plain, before)
	}

	s, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(s.Sums[0].Path, s.Sums[0].Bytes/2); err != nil {
		t.Fatal(err)
	}
	if got, _ := calls(); math.Abs(got-after) > 1e-9*after {
		t.Errorf("%v calls with damaged sums, want %v", got, after)
	}
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), s.Sums[0].Path) {
		t.Errorf("%v: want the damaged file named", err)
	}
}

// Readers of a bucket skip rollups that are missing or damaged, or that do not fit in the cache. They read those of the
// other dates.
func TestHourlyRollup_UnreadableInBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	root := lakesWithSums(t)["one collector"]
	s, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for _, f := range s.Files {
		bytes += f.Bytes
	}
	rows, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rows.sums = nil
	want := everySum(t, rows, CPU, Window{}, time.Hour)
	for _, c := range []struct {
		what   string
		spoil  func(object string) error
		cache  int64
		usable int
	}{
		{"all here", nil, 1 << 30, len(s.Sums)},
		{"one gone", os.Remove, 1 << 30, len(s.Sums) - 1},
		{"one damaged", func(object string) error {
			data, err := os.ReadFile(object)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return os.WriteFile(object, data, 0o644)
		}, 1 << 30, len(s.Sums) - 1},
		{"no room", nil, bytes + 1, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			address := together(t, []string{root})
			if c.spoil != nil {
				objects, err := filepath.Glob(strings.TrimPrefix(address, "file://") + "/*/date=*/*" + table.Extension(table.KindPreaggregated))
				if err != nil || len(objects) != len(s.Sums) {
					t.Fatal(objects, err)
				}
				if err := c.spoil(objects[0]); err != nil {
					t.Fatal(err)
				}
			}
			w, err := Open(t.Context(), fmt.Sprintf("%s?%s=%d", address, CacheOption, c.cache), Window{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			nearlySame(t, c.what, everySum(t, w, CPU, Window{}, time.Hour), want)
			if len(w.sums) != c.usable {
				t.Errorf("%d sums are read, want %d", len(w.sums), c.usable)
			}
			if err := w.Verify(t.Context()); (err != nil) != (c.usable < len(s.Sums)) {
				t.Errorf("verify: %v", err)
			}
		})
	}
}

// An instance without a name counts as one instance: in rows, in the rollups that replace rows, and in pre-aggregated
// rollups.
func TestHourlyRollup_CountsInstances(t *testing.T) {
	for _, instances := range [][]string{{"a"}, {"", "a"}, {"", "a", "b", "c"}} {
		var rows []methodspan.Row
		for i := range 400 {
			at := fixture.Start.Add(time.Duration(i) * 3 * time.Minute).UnixNano()
			rows = append(rows, methodspan.Row{
				Resource: &methodspan.Resource{Service: "shop", Version: "1", Instance: instances[i%len(instances)]}, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact,
				Class: "c", Method: "m", Caller: "(entry)", StartNS: at, EndNS: at + 1000, Measured: 1, WallNS: 1000, P: 1, CPUMeasured: 1, CPUNS: 500, CPUP: 1,
			})
		}
		roots := map[string]string{}
		for _, name := range []string{"rows", "sums in their place", "rollups"} {
			roots[name] = fixture.Write(t, fixture.Items("x", rows...))
		}
		end := fixture.Start.Add(10 * 24 * time.Hour)
		runMaintenance(t, roots["sums in their place"], end, maintain.Policy{HourAfter: 24 * time.Hour})
		keepSums(t, roots["rollups"], end)
		for name, root := range roots {
			w, err := Open(t.Context(), root, Window{})
			if err != nil {
				t.Fatal(err)
			}
			costs, err := w.Costs(t.Context(), CostQuery{TimeBucket: time.Hour, Group: []string{"service"}})
			if err != nil || len(costs.Groups) != 1 || costs.Groups[0].Instances != int64(len(instances)) {
				t.Errorf("%s of instances %q: %+v, %v", name, instances, costs.Groups, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
