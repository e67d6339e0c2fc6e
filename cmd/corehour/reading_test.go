package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// unreadable are texts that no command prints, with the reason.
var unreadable = map[string]*regexp.Regexp{
	"a percentage in scientific notation":  regexp.MustCompile(`\de[+-]?\d+%`),
	"a change that is the numeric limit":   regexp.MustCompile(`\+\d{6,}\.\d%`),
	"a negative zero":                      regexp.MustCompile(`-0(\.0+)?%`),
	"an interval without ends":             regexp.MustCompile(`interval - ~`),
	"a long number in scientific notation": regexp.MustCompile(`\d\.\d{4,}e[+-]\d+`),
	"a plural of one":                      regexp.MustCompile(`(^|[^\d.,:-])1 (packages|methods|services|processes|instances|versions|alerts|days|rows|files|calls|records|findings|whole services|regressions|time buckets)\b`),
	"seven zeros after the point":          regexp.MustCompile(`0\.0{7}`),
	"a format error":                       regexp.MustCompile(`%!|<nil>|\bNaN\b|\+Inf`),
}

// requireReadable fails for each unreadable text of an output.
func requireReadable(t *testing.T, args []string, out string) {
	t.Helper()
	out = strings.ReplaceAll(out, "and 1 ", "and one ") // 0 and 1 processes
	for reason, pattern := range unreadable {
		for line := range strings.Lines(out) {
			if pattern.MatchString(line) {
				t.Errorf("corehour %s: %s: %s", strings.Join(args, " "), reason, strings.TrimSpace(line))
			}
		}
	}
}

// readingScenes are stored warehouses with extreme figures: the two releases of the fixture, and services with one process,
// one method, calls of nanoseconds and of days, and a change by a factor of millions.
func readingScenes(t *testing.T) map[string]string {
	t.Helper()
	var items []methodspan.Item
	for _, s := range []struct {
		name          string
		before, after time.Duration
		calls         int
	}{
		{"tiny", time.Nanosecond, time.Nanosecond, 40}, {"jump", 10 * time.Nanosecond, 20 * time.Second, 60},
		{"long", 30 * time.Hour, 31 * time.Hour, 3}, {"once", time.Millisecond, time.Millisecond, 1},
		{"equal", time.Millisecond, time.Millisecond, 400},
	} {
		method := "app.Run"
		if s.name == "equal" {
			method = longMethod
		}
		for v, cpu := range []time.Duration{s.before, s.after} {
			from := fixture.Start.Add(time.Duration(v) * 20 * time.Minute)
			p := fixture.NewProcess([]string{"1.0", "1.1"}[v], s.name+[]string{"a", "b"}[v], from)
			p.Price, p.Resource.Service = 0.04, s.name
			p.Counts(method, from, time.Minute, int64(s.calls))
			for i := range s.calls {
				p.Call(method, methodspan.CallerEntry, from.Add(time.Duration(i)*time.Second/10), 2*cpu, cpu, 1, 1)
			}
			p.Beat(from, time.Minute, time.Second, true)
			items = append(items, p.Item())
		}
	}
	var demo []methodspan.Item // releases that run for two minutes, as in corehour demo
	for v, start := range []time.Duration{0, 40 * time.Second} {
		s := fixture.Shop{Seed: uint64(v), Version: []string{"1.0", "1.1"}[v], Instances: []string{fmt.Sprint(v, "a"), fmt.Sprint(v, "b"), fmt.Sprint(v, "c")}, Start: fixture.Start.Add(start), Minutes: 2, Requests: 300}
		if v == 1 {
			s.OwnCPU = map[string]time.Duration{fixture.Rate: time.Millisecond}
		}
		items, _ := s.Run()
		demo = append(demo, items...)
	}
	return map[string]string{"releases": twoReleases(t, 0.5), "extremes": fixture.Write(t, items), "demo": fixture.Write(t, demo)}
}

const longMethod = "example.com/platform/checkout/internal/pricing.(*Engine[example.com/platform/checkout/internal/pricing.Key]).RecalculateEverything"

func TestOutput_Readable(t *testing.T) {
	clock(t, evening)
	budgets := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(budgets, []byte(`{"version": 1, "budgets": [{"name": "all", "usd_per_day": 0.000001}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for scene, root := range readingScenes(t) {
		t.Run(scene, func(t *testing.T) {
			method := map[string]string{"releases": "Rate", "extremes": "Run", "demo": "Rate"}[scene]
			for _, args := range [][]string{
				{"regress"}, {"regress", "--verbose"}, {"regress", "--wide"}, {"regress", "--format", "markdown"}, {"regress", "--method", "threshold", "--min-records", "1"},
				{"explain", method}, {"explain", "--service", "tiny", method}, {"explain", "--service", "jump", method}, {"cost"}, {"cost", "--by", "service"}, {"cost", "--budgets", budgets},
				{"drift"}, {"check"}, {"report", "--format", "text"},
			} {
				r := corehour(append(args, "--warehouse", root)...)
				requireReadable(t, args, r.stdout+r.stderr)
				if scene == "extremes" && args[0] == "cost" && len(args) == 1 && !strings.Contains(r.stdout, "RecalculateEverything") {
					t.Errorf("a long name is broken:\n%s", r.stdout)
				}
			}
			page := corehour("report", "--warehouse", root)
			requireReadable(t, []string{"report"}, html.UnescapeString(regexp.MustCompile(`(?s)<style>.*</style>|<[^>]*>`).ReplaceAllString(strings.ReplaceAll(page.stdout, "<wbr>", ""), "\n")))
		})
	}
}

// The first line of regress is the alert; a healthy service is one line, a caveat is printed once, and columns that are
// empty for all rows are not printed.
func TestRegress_OneLineFirst(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	for i, service := range []string{"node-shop", "search"} {
		for v, start := range []time.Time{fixture.Start, fixture.Start.Add(30 * time.Minute)} {
			s := fixture.Shop{
				Seed: uint64(10 + 2*i + v), Version: []string{"1.0", "1.1"}[v], Instances: []string{fmt.Sprint(service, v, "a"), fmt.Sprint(service, v, "b")}, Start: start, Minutes: 40, Requests: 20,
			}
			items, _ := s.Run()
			for j := range items {
				items[j].Rows = append([]methodspan.Row(nil), items[j].Rows...)
				for k := range items[j].Rows {
					resource := *items[j].Rows[k].Resource
					resource.Service = service
					items[j].Rows[k].Resource = &resource
				}
			}
			fixture.Append(t, root, evening, items)
		}
	}
	r := corehour("regress", "--warehouse", root)
	lines := strings.Split(r.stdout, "\n")
	if want := regexp.MustCompile(`^REGRESSED tax\.Rate \(store/shop 1\.9\.0 -> 1\.10\.0, production\): \+1\d\d% CPU per call, \d+ -> \d+ us, \+\$0\.\d+/day, 95% \+\d+% to \+\d+%`); r.code != exitFound ||
		!want.MatchString(strings.ReplaceAll(r.stdout, "\n  ", " ")) {
		t.Errorf("exit %d, first line %q", r.code, lines[0])
	}
	for _, service := range []string{"node-shop", "search"} {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, service) {
				n++
				if !strings.Contains(line, " 1.1: no regression; 4 methods; changes under +") {
					t.Errorf("%s: %q", service, line)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s has %d lines:\n%s", service, n, r.stdout)
		}
	}
	for _, absent := range []string{"e-value", "e+", "common part", "taken to differ", "--wide prints", "0 with too few"} {
		if strings.Contains(r.stdout, absent) {
			t.Errorf("prints %q:\n%s", absent, r.stdout)
		}
	}
	if n := strings.Count(strings.Join(strings.Fields(r.stdout), " "), "instead of 1m0s"); n != 1 {
		t.Errorf("the caveat on time buckets is printed %d times:\n%s", n, r.stdout)
	}
	if !regexp.MustCompile(`(?m)^service +method +verdict +change +95% interval +inclusive +before +after +\$/day$`).MatchString(r.stdout) {
		t.Errorf("columns:\n%s", r.stdout)
	}
	if r = corehour("regress", "--warehouse", root, "--verbose"); !strings.Contains(r.stdout, "e-value") || !strings.Contains(r.stdout, "taken to differ") {
		t.Errorf("--verbose prints no evidence:\n%s", r.stdout)
	}
}

// The page begins with the alert. Raised rows are open and the others folded, names lack the path that all share, and ids are
// whole.
func TestReport_VerdictFirst(t *testing.T) {
	clock(t, evening)
	page := corehour("report", "--warehouse", twoReleases(t, 0.5)).stdout
	body := page[strings.Index(page, "<body>")+len("<body>"):]
	if text := strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, "")); !strings.HasPrefix(text, "REGRESSED tax.Rate (store/shop 1.9.0 -&gt; 1.10.0, production): ") {
		t.Errorf("begins with %.200q", text)
	}
	for _, want := range []string{
		`<td class="name" title="shop/tax.Rate">tax.<wbr>Rate</td>`, "names of methods are without shop/", "<summary>3 methods with nothing raised</summary>", "<code>068116bb13d45f1287141c39</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if open, folded := strings.Count(page, "<details open>"), strings.Count(page, "<details><summary><h3"); open != 1 || folded != 3 {
		t.Errorf("%d methods are open and %d folded, want 1 and 3", open, folded)
	}
}

// Commands read the warehouse of the collector's variable; the flag wins. A window after the newest row names the age of
// that row, and the flag to type.
func TestWarehouse_FromVariable(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	t.Setenv(warehouseVariable, root)
	for _, args := range [][]string{{"cost"}, {"check"}, {"explain", "Rate"}, {"sql", "SELECT count(*) FROM method_calls"}, {"compact", "--dry-run"}} {
		if r := corehour(args...); r.code != exitNothing {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := corehour("cost", "--warehouse", filepath.Join(t.TempDir(), "absent")); r.code == exitNothing {
		t.Error("the variable wins over the flag")
	}
	clock(t, evening.Add(3*time.Hour))
	if r := corehour("regress", "--since", "1h"); r.code != exitCannotTell || !strings.Contains(r.stderr, "the newest row is 3h50m old") || !strings.Contains(r.stderr, "try --since 5h") {
		t.Errorf("%+v", r)
	}
	if r := corehour("regress", "--since", "5h"); r.code != exitFound {
		t.Errorf("the flag that it suggests: %+v", r)
	}
	if r := corehour("explain", "--since", "9h", "ate"); !strings.Contains(r.stderr, "did you mean one of these?") || !strings.Contains(r.stderr, "shop/tax.Rate") {
		t.Errorf("%+v", r)
	}
}

// With --only-new a job fails once for a regression, not at every run.
func TestRegress_OnlyNew(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	if r := corehour("regress", "--warehouse", root, "--only-new"); r.code != exitFailed || !strings.Contains(r.stderr, "--only-new: has no effect without --alerts or a sink") {
		t.Errorf("%+v", r)
	}
	file := filepath.Join(t.TempDir(), "alerts.jsonl")
	for _, want := range []int{exitFound, exitNothing, exitNothing} {
		if r := corehour("regress", "--warehouse", root, "--alerts", file, "--only-new"); r.code != want || !strings.Contains(r.stdout, "REGRESSED tax.Rate") {
			t.Errorf("exit %d, want %d\n%s%s", r.code, want, r.stdout, r.stderr)
		}
	}
	if r := corehour("regress", "--warehouse", root, "--alerts", file); r.code != exitFound {
		t.Errorf("without --only-new: exit %d", r.code)
	}
}
