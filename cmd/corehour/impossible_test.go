package main

import (
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
	"github.com/corehour/corehour/test/fixture"
)

// poison returns rows of the service "evil", as a collector without validation would store them. In each item some
// fields have impossible values. Tests of regression/query try every field by itself.
func poison(start time.Time) (items []methodspan.Item) {
	price := math.MaxFloat64
	for n, spoil := range []func(*methodspan.Row){
		func(r *methodspan.Row) { r.Measured, r.CPUMeasured = math.MaxInt64, math.MaxInt64 },
		func(r *methodspan.Row) { r.Measured, r.CPUMeasured = math.MinInt64, -1 },
		func(r *methodspan.Row) { r.WallNS, r.CPUNS = math.MaxInt64, 1<<60 },
		func(r *methodspan.Row) { r.WallNS, r.CPUNS = -1, math.MinInt64 },
		func(r *methodspan.Row) { r.WallMaxNS, r.CPUMaxNS = math.MaxInt64, -1 },
		func(r *methodspan.Row) { r.EndNS = math.MaxInt64 },
		func(r *methodspan.Row) { r.StartNS, r.EndNS = r.StartNS-int64(24*time.Hour), math.MinInt64 },
		func(r *methodspan.Row) { r.Calls, r.Errors = math.Inf(1), math.NaN() },
		func(r *methodspan.Row) { r.Calls, r.Errors = 1e300, -1 },
		func(r *methodspan.Row) { r.P, r.CPUP = math.NaN(), math.Inf(-1) },
		func(r *methodspan.Row) { r.P, r.CPUP = 5e-324, 1e-300 },
		func(r *methodspan.Row) { r.WallSq, r.CPUSq = math.MaxFloat64, math.NaN() },
		func(r *methodspan.Row) { r.ConfiguredRate, r.EffectiveRate = math.Inf(1), -1 },
		func(r *methodspan.Row) { r.USDPerCoreHour, r.PriceSource = &price, "list of mine" },
		func(r *methodspan.Row) {
			of := *r.Resource
			of.ProcessStartNS = math.MaxInt64
			r.Resource = &of
		},
		func(r *methodspan.Row) {
			if r.Process != nil {
				*r.Process = methodspan.ProcessStats{Cores: math.NaN(), HostCores: 1e300, CPULimit: math.Inf(1), CallsTotal: math.MaxInt64, RSSBytes: math.MinInt64,
					Stats: []methodspan.Stat{{Name: "dropped", Value: math.NaN()}, {Name: "ring_capacity", Value: math.Inf(-1)}}}
			}
		},
	} {
		for i, basis := range []string{methodspan.BasisExact, methodspan.BasisThreshold, methodspan.BasisExact} { // twice: sums overflow, too
			p := fixture.NewProcess(fmt.Sprintf("1.%d", i%2), fmt.Sprintf("evil-%d-%d", n, i), start)
			p.Resource.Service, p.Resource.Host, p.Resource.HostID = "evil", "elsewhere", "of-evil"
			at := start.Add(time.Duration(n) * time.Minute)
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
			for j := range item.Rows {
				item.Rows[j].WeightBasis = basis
			}
			items = append(items, item)
		}
	}
	return items
}

// impossibleRows returns the number of impossible rows that check names, by service.
func impossibleRows(t *testing.T, address string) map[string]int {
	t.Helper()
	r := corehour("check", "--warehouse", address, "--from", "2026-03-09", "--wide")
	if r.code == exitFailed {
		t.Fatalf("%+v", r)
	}
	found := map[string]int{}
	for _, m := range regexp.MustCompile(`impossible: store/(\w+) \(production\): (\d+) rows`).FindAllStringSubmatch(r.stdout, -1) {
		found[m[1]], _ = strconv.Atoi(m[2])
	}
	return found
}

// TestImpossibleNumbers_EveryCommand: impossible numbers of one service make no command fail and do not change the
// results of another. compact --drop-impossible changes no result.
func TestImpossibleNumbers_EveryCommand(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, fixture.Start.Add(48*time.Hour))
	clean, spoilt := twoReleases(t, 0.5), twoReleases(t, 0.5)
	fixture.Append(t, spoilt, evening, poison(fixture.Start))
	sameOf(t, "impossible rows of another service", answersOf(clean, "shop"), answersOf(spoilt, "shop"))
	all := answersOf(spoilt, "")
	for command, r := range all {
		if strings.Contains(r.stdout, "NaN") || strings.Contains(r.stdout, "Inf") || strings.Contains(command, "json") && !json.Valid([]byte(r.stdout)) {
			t.Errorf("%s: %s", command, r.stdout)
		}
	}
	if r := corehour("compact", "--warehouse", spoilt, "--drop-impossible", "--yes"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	sameOf(t, "compact", all, answersOf(spoilt, ""))
	for _, root := range []string{clean, spoilt} {
		if r := corehour("compact", "--warehouse", root, "--hour-after", "1h"); r.code != exitNothing {
			t.Fatalf("%+v", r)
		}
	}
	sameOf(t, "rollup", answersOf(clean, "shop"), answersOf(spoilt, "shop"))
}

// TestCompact_DropsImpossibleNumbers: in a directory and in a bucket, a dry run names the rows that check names, and
// --yes removes their impossible numbers.
func TestCompact_DropsImpossibleNumbers(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, fixture.Start.Add(48*time.Hour))
	root, stored := twoReleases(t, 0.5), twoReleases(t, 0.5)
	for _, root := range []string{root, stored} {
		fixture.Append(t, root, evening, poison(fixture.Start))
	}
	for _, address := range []string{root, inBucket(t, map[string]string{"one": stored, "two": twoReleases(t, 0.5)})} {
		before := impossibleRows(t, address)
		dry := corehour("compact", "--warehouse", address, "--drop-impossible")
		if dry.code != exitNothing || !strings.Contains(dry.stdout, "store/evil") || strings.Contains(dry.stdout, "store/shop") || len(before) != 1 || before["evil"] == 0 || !maps.Equal(before, impossibleRows(t, address)) {
			t.Fatalf("dry run: check names %v: %+v", before, dry)
		}
		if address == root {
			rows := 0
			for _, line := range regexp.MustCompile(`raw-\d+\.parquet +store/evil +production +(\d+)`).FindAllStringSubmatch(dry.stdout, -1) {
				n, _ := strconv.Atoi(line[1])
				rows += n
			}
			if rows != before["evil"] || !strings.Contains(dry.stdout, "dry run: nothing was changed; give --yes to apply") {
				t.Errorf("%d rows, check names %v: %+v", rows, before, dry)
			}
		}
		r := corehour("compact", "--warehouse", address, "--drop-impossible", "--yes")
		if after := impossibleRows(t, address); r.code != exitNothing || len(after) > 0 {
			t.Errorf("--yes: %v: %+v", after, r)
		}
	}
	if r := corehour("compact", "--warehouse", root, "--drop-impossible", "--yes"); r.code != exitNothing || !strings.Contains(r.stdout, "nothing to do") {
		t.Errorf("again: %+v", r)
	}
	for _, other := range []string{"--drop-damaged", "--delete-service=evil", "--relabel=evil=good", "--max-files=3"} {
		if r := corehour("compact", "--warehouse", root, "--drop-impossible", other); r.code != exitFailed || r.stdout != "" {
			t.Errorf("%s: %+v", other, r)
		}
	}
}

// answersOf returns the results of every command that reads rows, by command line. service limits them to one service.
func answersOf(root, service string) map[string]result {
	answers := map[string]result{}
	for _, command := range [][]string{
		{"cost"}, {"cost", "--json"}, {"cost", "--percentiles", "--format", "csv"}, {"cost", "--by", "version"}, {"regress"}, {"regress", "--json"}, {"regress", "--warm-up", "5m"},
		{"drift", "--json"}, {"report", "--format", "markdown"}, {"explain", "--wide", fixture.Rate}, {"check", "--wide"}, {"check", "--json"},
		{"sql", `SELECT service, method, kind, SUM(calls) AS calls, SUM(measured) AS measured, SUM(cpu_measured) AS cpu_measured, SUM(errors) AS errors, SUM(w * cpu_ns) AS cpu, SUM(w_wall * wall_ns) AS wall,
			SUM(cost_usd) AS usd, MAX(wall_max_ns) AS wall_max, MAX(calls_total) AS total, MIN(calls_total) AS least, MAX(end_ns) AS last FROM method_cost WHERE '` + service + `' IN ('', service) GROUP BY ALL ORDER BY ALL`},
	} {
		to := evening.Format(time.RFC3339)
		if command[0] == "drift" { // needs whole days
			to = "2026-03-11"
		}
		args := []string{command[0], "--from", "2026-03-10", "--to", to, "--warehouse", root}
		if service != "" && command[0] != "sql" {
			args = append(args, "--service", service)
		}
		r := corehour(append(args, command[1:]...)...)
		r.stdout = strings.ReplaceAll(r.stdout, root, "")
		answers[strings.Join(command, " ")] = r
	}
	return answers
}

// sameOf compares results, except for the figures about files and impossible rows.
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

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d:\n-%.400s\n+%.400s", i+1, strings.Join(w[min(i, len(w)):min(i+3, len(w))], "\n"), strings.Join(g[min(i, len(g)):min(i+3, len(g))], "\n"))
		}
	}
	return "the same"
}
