package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// poison returns rows of the service "evil". In each item one field has an impossible value, as a collector
// without validation would store it.
func poison(start time.Time) (items []methodspan.Item) {
	whole := []int64{math.MinInt64, -1, 1 << 53, 1<<53 + 1, 1 << 60, math.MaxInt64}
	real := []float64{-1, 5e-324, 1e-300, 1 << 60, 1e300, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	wholes := map[string]func(r *methodspan.Row, n int64){
		"measured":     func(r *methodspan.Row, n int64) { r.Measured = n },
		"cpu_measured": func(r *methodspan.Row, n int64) { r.CPUMeasured = n },
		"both":         func(r *methodspan.Row, n int64) { r.Measured, r.CPUMeasured = n, n },
		"wall":         func(r *methodspan.Row, n int64) { r.WallNS = n },
		"cpu":          func(r *methodspan.Row, n int64) { r.CPUNS = n },
		"wall_max":     func(r *methodspan.Row, n int64) { r.WallMaxNS = n },
		"cpu_max":      func(r *methodspan.Row, n int64) { r.CPUMaxNS = n },
		"end":          func(r *methodspan.Row, n int64) { r.EndNS = n },
		"life":         func(r *methodspan.Row, n int64) { r.StartNS, r.EndNS = r.StartNS-int64(24*time.Hour), n },
		"start": func(r *methodspan.Row, n int64) {
			r.StartNS, r.EndNS = min(max(r.StartNS, n), evening.Add(23*time.Hour).UnixNano()), max(r.StartNS, n)
		},
		"all": func(r *methodspan.Row, n int64) { r.Measured, r.CPUMeasured, r.WallNS, r.CPUNS = n, n, n, n },
		"process start": func(r *methodspan.Row, n int64) {
			of := *r.Resource
			of.ProcessStartNS = n
			r.Resource = &of
		},
		"total": func(r *methodspan.Row, n int64) {
			if r.Process != nil {
				r.Process.CallsTotal, r.Process.RSSBytes = n, n
			}
		},
	}
	reals := map[string]func(r *methodspan.Row, x float64){
		"calls":     func(r *methodspan.Row, x float64) { r.Calls = x },
		"errors":    func(r *methodspan.Row, x float64) { r.Errors = x },
		"p":         func(r *methodspan.Row, x float64) { r.P = x },
		"cpu_p":     func(r *methodspan.Row, x float64) { r.CPUP = x },
		"wall_sq":   func(r *methodspan.Row, x float64) { r.WallSq = x },
		"cpu_sq":    func(r *methodspan.Row, x float64) { r.CPUSq = x },
		"rates":     func(r *methodspan.Row, x float64) { r.ConfiguredRate, r.EffectiveRate = x, x },
		"price":     func(r *methodspan.Row, x float64) { r.USDPerCoreHour, r.PriceSource = &x, "list of mine" },
		"both of p": func(r *methodspan.Row, x float64) { r.P, r.CPUP = x, x },
		"process": func(r *methodspan.Row, x float64) {
			if r.Process != nil {
				*r.Process = methodspan.ProcessStats{Cores: x, HostCores: x, CPULimit: x, Stats: []methodspan.Stat{{Name: "dropped", Value: x}, {Name: "ring_capacity", Value: x}}}
			}
		},
	}
	n := 0
	add := func(spoil func(r *methodspan.Row)) {
		for _, basis := range []string{methodspan.BasisExact, methodspan.BasisThreshold} {
			n++
			p := fixture.NewProcess(fmt.Sprintf("1.%d", n%2), fmt.Sprintf("evil-%d", n), start)
			p.Resource.Service, p.Resource.Host, p.Resource.HostID = "evil", "elsewhere", "of-evil"
			at := start.Add(time.Duration(n%60) * time.Minute)
			p.Counts("evil.Do", at, time.Minute, 100)
			counts := p.Call("evil.Do", "", at, time.Minute, 0, 1, 1)
			counts.Kind, counts.Measured, counts.CPUMeasured, counts.Calls = methodspan.KindCounts, 0, 0, 100
			spoil(counts)
			spoil(p.Call("evil.Do", "(entry)", at, time.Second, time.Second, 0.5, 1))
			sum := p.Call("evil.Sum", "evil.Do", at, time.Second, time.Second, 0.5, 1)
			sum.Kind, sum.Measured, sum.CPUMeasured = methodspan.KindAggregate, 10, 10
			spoil(sum)
			spoil(p.Beat(at, time.Minute, time.Second, false))
			item := p.Item()
			for i := range item.Rows {
				item.Rows[i].WeightBasis = basis
			}
			items = append(items, item)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wholes)) {
		set := wholes[name]
		for _, x := range whole {
			add(func(r *methodspan.Row) { set(r, x) })
			add(func(r *methodspan.Row) { set(r, x) }) // the sum of both overflows
		}
	}
	for _, name := range slices.Sorted(maps.Keys(reals)) {
		set := reals[name]
		for _, x := range real {
			add(func(r *methodspan.Row) { set(r, x) })
		}
	}
	return items
}

// TestImpossibleNumbers_EveryCommand: impossible numbers of one service make no command fail and do not change the results of
// another service.
func TestImpossibleNumbers_EveryCommand(t *testing.T) {
	skipLong(t)
	clock(t, fixture.Start.Add(48*time.Hour))
	clean, spoilt := twoReleases(t, 0.5), twoReleases(t, 0.5)
	fixture.Append(t, spoilt, evening, poison(fixture.Start))

	sameAnswers(t, clean, spoilt)
	r := corehour("check", "--warehouse", spoilt, "--from", "2026-03-09")
	named := regexp.MustCompile(`impossible: store/evil \(production\): (\d+) rows`).FindStringSubmatch(strings.Join(strings.Fields(r.stdout), " "))
	if named == nil || strings.Contains(r.stdout, "impossible: store/shop") {
		t.Fatalf("check does not name the rows: %+v", r)
	}
	t.Logf("%s rows of %d items", named[1], len(poison(fixture.Start)))
	for _, root := range []string{clean, spoilt} {
		if r := corehour("compact", "--warehouse", root, "--hour-after", "1h"); r.code != exitNothing {
			t.Fatalf("%+v", r)
		}
	}
	sameAnswers(t, clean, spoilt)
	db, files := storedIn(t, spoilt)
	sums := 0
	for _, f := range files {
		var rows, wrong int
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*), COUNT(*) FILTER (NOT (measured BETWEEN 0 AND 9007199254740992 AND cpu_measured BETWEEN 0 AND 9007199254740992
			AND calls BETWEEN 0 AND 1152921504606846976 AND errors BETWEEN 0 AND 1152921504606846976 AND COALESCE(wall_ns, 0) BETWEEN 0 AND 1152921504606846976
			AND COALESCE(cpu_ns, 0) BETWEEN 0 AND 1152921504606846976 AND COALESCE(ABS(p), 1) BETWEEN 1e-18 AND 1e300))
			FROM read_parquet('`+f.Path+`') WHERE level = 'hour'`).Scan(&rows, &wrong); err != nil {
			t.Fatal(err)
		}
		sums += rows
		if wrong > 0 {
			t.Errorf("%d of %d sums in %s cannot be", wrong, rows, f.Path)
		}
	}
	if sums == 0 {
		t.Error("nothing was added up")
	}
}

// TestCompact_DropsImpossibleNumbers: compact --drop-impossible removes impossible numbers for good. Afterwards
// every command returns the same results for every service, from rows and from rollups, and queries no longer
// need to check for such numbers.
func TestCompact_DropsImpossibleNumbers(t *testing.T) {
	skipLong(t)
	clock(t, fixture.Start.Add(48*time.Hour))
	root, untouched := twoReleases(t, 0.5), twoReleases(t, 0.5)
	for _, root := range []string{root, untouched} {
		fixture.Append(t, root, evening, poison(fixture.Start))
	}
	before := answersOf(root)
	dry := corehour("compact", "--warehouse", root, "--drop-impossible")
	rows := int64(0)
	for _, line := range regexp.MustCompile(`raw-\d+\.parquet +store/evil +production +(\d+)`).FindAllStringSubmatch(dry.stdout, -1) {
		n, err := strconv.ParseInt(line[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		rows += n
	}
	if dry.code != exitNothing || rows == 0 || !strings.Contains(dry.stdout, "dry run: nothing was changed; give --yes to apply") || strings.Contains(dry.stdout, "store/shop") {
		t.Fatalf("%+v", dry)
	}
	if check := corehour("check", "--warehouse", root, "--from", "2026-03-09"); !strings.Contains(check.stdout, fmt.Sprintf("store/evil (production): %d rows", rows)) {
		t.Errorf("compact names %d rows, check says\n%s", rows, linesWith(check.stdout, "impossible"))
	}
	if nothing := corehour("compact", "--warehouse", root, "--drop-impossible"); nothing.stdout != dry.stdout {
		t.Errorf("a dry run changed it: %+v", nothing)
	}
	var done struct {
		Steps      []struct{ Action string }
		Impossible []struct {
			Service string
			Rows    int64
		}
	}
	r := corehour("compact", "--warehouse", root, "--drop-impossible", "--yes", "--format", "json")
	if err := json.Unmarshal([]byte(r.stdout), &done); err != nil || r.code != exitNothing || len(done.Steps) == 0 || done.Steps[0].Action != "drop_impossible" {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, i := range done.Impossible {
		if rows -= i.Rows; i.Service != "evil" {
			t.Errorf("%+v", i)
		}
	}
	if rows != 0 {
		t.Errorf("%d rows more are named with --yes: %+v", -rows, done.Impossible)
	}
	if r := corehour("compact", "--warehouse", root, "--drop-impossible", "--yes"); r.code != exitNothing || !strings.Contains(r.stdout, "nothing to do") {
		t.Fatalf("%+v", r)
	}
	after := answersOf(root)
	if !strings.Contains(before["check --wide"].stdout, "impossible: ") || strings.Contains(after["check --wide"].stdout, "impossible: ") {
		t.Errorf("check: %s", linesWith(after["check --wide"].stdout, "impossible"))
	}
	sameOf(t, "compact", before, after)
	nothingToLookAt(t, root)

	// Rollups of the cleaned rows equal rollups of the original rows, whose numbers are bounded when they are read.
	for _, root := range []string{root, untouched} {
		if r := corehour("compact", "--warehouse", root, "--hour-after", "1h"); r.code != exitNothing {
			t.Fatalf("%+v", r)
		}
	}
	sums := []string{"cost", "regress", "sql"}
	sameOf(t, "adding up", answersOf(untouched, sums...), answersOf(root, sums...))
	for _, other := range []string{"--drop-damaged", "--delete-service=evil", "--relabel=evil=good", "--max-files=3"} {
		if r := corehour("compact", "--warehouse", root, "--drop-impossible", other); r.code != exitFailed || r.stdout != "" {
			t.Errorf("%s: %+v", other, r)
		}
	}
}

// TestCompact_DropsImpossibleNumbersInBucket: in a bucket, --drop-impossible cleans the prefixes that no collector owns.
func TestCompact_DropsImpossibleNumbersInBucket(t *testing.T) {
	unracedWhenShort(t)
	clock(t, fixture.Start.Add(48*time.Hour))
	root := twoReleases(t, 0.5)
	fixture.Append(t, root, evening, poison(fixture.Start))
	address := inBucket(t, map[string]string{"one": root, "two": twoReleases(t, 0.5)})
	impossible := func() bool {
		r := corehour("check", "--warehouse", address, "--from", "2026-03-09")
		if r.code == exitFailed {
			t.Fatalf("%+v", r)
		}
		return strings.Contains(r.stdout, "impossible: store/evil")
	}
	if r := corehour("compact", "--warehouse", address, "--drop-impossible"); r.code != exitNothing || !strings.Contains(r.stdout, "store/evil") || !impossible() {
		t.Fatalf("%+v", r)
	}
	if r := corehour("compact", "--warehouse", address, "--drop-impossible", "--yes"); r.code != exitNothing || impossible() {
		t.Errorf("%+v", r)
	}
}

// answersOf returns the results of the commands over all services, by command line. If only is not empty, it runs
// these commands alone. sameOf ignores the figures about files and impossible rows in them.
func answersOf(root string, only ...string) map[string]result {
	answers := map[string]result{}
	for _, command := range [][]string{
		{"cost"}, {"cost", "--json"}, {"cost", "--percentiles", "--format", "csv"}, {"cost", "--by", "version"}, {"regress"}, {"regress", "--json"}, {"regress", "--warm-up", "5m"},
		{"drift", "--json"}, {"report", "--format", "markdown"}, {"explain", "--wide", fixture.Rate}, {"check", "--wide"}, {"check", "--json"},
		{"sql", `SELECT service, method, kind, SUM(calls) AS calls, SUM(measured) AS measured, SUM(cpu_measured) AS cpu_measured, SUM(errors) AS errors, SUM(w * cpu_ns) AS cpu, SUM(w_wall * wall_ns) AS wall,
			SUM(cost_usd) AS usd, MAX(wall_max_ns) AS wall_max, MAX(calls_total) AS total, MIN(calls_total) AS least, MAX(end_ns) AS last FROM method_cost GROUP BY ALL ORDER BY ALL`},
	} {
		if len(only) > 0 && !slices.Contains(only, command[0]) {
			continue
		}
		to := evening.Format(time.RFC3339)
		if command[0] == "drift" {
			to = "2026-03-11"
		}
		r := corehour(slices.Concat(command[:1], []string{"--from", "2026-03-10", "--to", to, "--warehouse", root}, command[1:])...)
		r.stdout = strings.ReplaceAll(r.stdout, root, "")
		answers[strings.Join(command, " ")] = r
	}
	return answers
}

func sameOf(t *testing.T, after string, want, got map[string]result) {
	t.Helper()
	ofFiles := regexp.MustCompile(`(?m)^impossible: .*\n|.*"(impossible_rows|freshness_p99_seconds|generation|files|rows)": .*\n|generation \d+, .* rows;|99% of rows committed .*\n`)
	for name, w := range want {
		g := got[name]
		if w.code == exitFailed || w.stdout == "" {
			t.Errorf("%s: %+v", name, w)
		}
		text := func(r result) string {
			var lines []string
			for line := range strings.Lines(tenDigits(ofFiles.ReplaceAllString(r.stdout, ""))) {
				if fields := strings.Fields(line); len(fields) > 0 { // column widths depend on the longest number
					lines = append(lines, strings.Join(fields, " "))
				}
			}
			slices.Sort(lines) // rows with equal values come in any order
			return strings.Join(lines, "\n")
		}
		one, two := text(w), text(g)
		if w.code != g.code || one != two {
			t.Errorf("%s after %s: exit %d, was %d, %s\n%s", name, after, g.code, w.code, g.stderr, firstDifference(one, two))
		}
	}
}

// tenDigits rounds numbers to ten digits or fewer. Several threads add up a sum, so its last digits differ from
// run to run.
func tenDigits(text string) string {
	return regexp.MustCompile(`\d+\.\d{5,}(e[-+]\d+)?|\d{16,}|\d+(\.\d+)?e[-+]\d+`).ReplaceAllStringFunc(text, func(number string) string {
		x, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil:
			return number
		case x < 1e-6: // rounding error of the difference of two sums
			return "0"
		case x < 1e-3:
			return strconv.FormatFloat(x, 'g', 6, 64)
		}
		return strconv.FormatFloat(x, 'g', 10, 64)
	})
}

// storedIn opens a DuckDB database and lists the files of a warehouse.
func storedIn(t *testing.T, root string) (*sql.DB, []parquet.File) {
	t.Helper()
	snapshot, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, snapshot.Files
}

// nothingToLookAt asserts that the statistics of all row groups are within the limits, so that queries need not
// check the numbers.
func nothingToLookAt(t *testing.T, root string) {
	t.Helper()
	db, files := storedIn(t, root)
	looked := 0
	for _, f := range files {
		rows, err := db.Query("SELECT path_in_schema, TRY_CAST(stats_min_value AS DOUBLE), TRY_CAST(stats_max_value AS DOUBLE) FROM parquet_metadata(?) WHERE stats_null_count < num_values", f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name string
			var least, most sql.NullFloat64
			if err := rows.Scan(&name, &least, &most); err != nil {
				t.Fatal(err)
			}
			limit, ok := map[string][2]float64{
				"measured": {0, methodspan.MostMeasured}, "cpu_measured": {0, methodspan.MostMeasured}, "calls": {0, methodspan.MostTime}, "errors": {0, methodspan.MostTime},
				"wall_ns": {0, methodspan.MostTime}, "cpu_ns": {0, methodspan.MostTime}, "p": {methodspan.LeastP, methodspan.MostP}, "cpu_p": {methodspan.LeastP, methodspan.MostP},
				"usd_per_core_hour": {0, methodspan.MostUSD}, "end_ns": {0, float64(methodspan.Until(now()))},
			}[name]
			if !ok {
				continue
			}
			looked++
			if !least.Valid || !most.Valid || least.Float64 < limit[0] || most.Float64 > limit[1] {
				t.Errorf("%s of %s: %v to %v", name, f.Path, least, most)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if looked < 10 {
		t.Errorf("%d columns were looked at", looked)
	}
}

// sameAnswers asserts that every command prints the same about the service "shop" for both warehouses, and that
// no command fails for all services of the spoilt one.
func sameAnswers(t *testing.T, clean, spoilt string) {
	t.Helper()
	window := []string{"--from", fixture.Start.Format(time.RFC3339), "--to", evening.Format(time.RFC3339)}
	commands := [][]string{
		{"cost"}, {"cost", "--json"}, {"cost", "--percentiles", "--format", "csv"}, {"cost", "--by", "version"}, {"regress"}, {"regress", "--json"}, {"regress", "--warm-up", "5m"},
		{"drift", "--json"}, {"report", "--format", "markdown"}, {"explain", "--wide", fixture.Rate},
		{"check"}, {"check", "--json"}, {"sql", "SELECT service, SUM(calls) AS calls, SUM(measured) AS measured, SUM(w * cpu_ns) AS cpu, SUM(cost_usd) AS usd FROM method_cost WHERE service = 'shop' GROUP BY ALL"},
	}
	dates := []string{"--from", "2026-03-10", "--to", "2026-03-11"} // drift needs whole days
	for _, command := range commands {
		name, window := strings.Join(command, " "), window
		if command[0] == "drift" {
			window = dates
		}
		of := []string{"--service", "shop"}
		if command[0] == "sql" {
			of = nil
		}
		one := corehour(slices.Concat(command[:1], window, of, []string{"--warehouse", clean}, command[1:])...)
		two := corehour(slices.Concat(command[:1], window, of, []string{"--warehouse", spoilt}, command[1:])...)
		if got, want := ofRows(strings.ReplaceAll(two.stdout, spoilt, clean)), ofRows(one.stdout); one.code != two.code || one.code == exitFailed || got != want {
			t.Errorf("%s of the shop: exit %d, was %d, %s\n%s", name, two.code, one.code, two.stderr, firstDifference(want, got))
		}
		all := corehour(slices.Concat(command[:1], window, []string{"--warehouse", spoilt}, command[1:])...)
		if all.code == exitFailed || strings.Contains(all.stdout, "NaN") || strings.Contains(all.stdout, "Inf") {
			t.Errorf("%s of all: exit %d, %s\n%s", name, all.code, all.stderr, linesWith(all.stdout, "NaN", "Inf"))
		}
		if strings.Contains(name, "json") && !json.Valid([]byte(all.stdout)) {
			t.Errorf("%s of all: no JSON: %.300s", name, all.stdout)
		}
	}
}

// ofRows removes the figures of check about the files of all services and rounds numbers to ten digits. Several
// threads add up a sum in any order, so its last digits differ.
func ofRows(text string) string {
	text = regexp.MustCompile(`generation \d+, .* rows;|"(generation|files|rows)": \d+,`).ReplaceAllString(text, "")
	return regexp.MustCompile(`\d*\.\d{8,}`).ReplaceAllStringFunc(text, func(number string) string {
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return strconv.FormatFloat(x, 'g', 10, 64)
	})
}

func linesWith(text string, parts ...string) (lines string) {
	for line := range strings.Lines(text) {
		for _, part := range parts {
			if strings.Contains(line, part) {
				lines += line
			}
		}
	}
	return lines
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d:\n-%.400s\n+%.400s", i+1, strings.Join(w[min(i, len(w)):min(i+3, len(w))], "\n"), strings.Join(g[min(i, len(g)):min(i+3, len(g))], "\n"))
		}
	}
	return "the same"
}
