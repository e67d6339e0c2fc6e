package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/test/fixture"
)

// unwrapped joins wrapped text into a single line.
func unwrapped(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// lengthened makes the names in items long, wide and hostile.
func lengthened(items []methodspan.Item) []methodspan.Item {
	long := "github.com/acme/\x1b[31m" + strings.Repeat("日本語/", 12) + strings.Repeat("platform-services/", 6)
	resources := map[*methodspan.Resource]*methodspan.Resource{}
	for i := range items {
		for j := range items[i].Rows {
			r := &items[i].Rows[j]
			if r.Class != "" {
				r.Class = long + r.Class
			}
			if r.Caller != "" && r.Caller != methodspan.CallerEntry {
				r.Caller = long + r.Caller
			}
			if resources[r.Resource] == nil {
				copied := *r.Resource
				copied.Service, copied.Environment = copied.Service+"-of-the-\u202ecustomer-facing-storefront", "production-eu-central-1-blue"
				copied.Version += "-rc.1+build." + strings.Repeat("0123456789", 5)
				resources[r.Resource] = &copied
			}
			r.Resource = resources[r.Resource]
		}
	}
	return items
}

// TestText_FitsTerminal: no line of text is wider than output.MaxWidth, however long the names are. --wide prints the
// names in full.
func TestText_FitsTerminal(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, evening)
	first := fixture.Shop{Seed: 1, Version: "1.9.0", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 40, Requests: 20}
	second := first
	second.Seed, second.Version, second.Instances, second.Start = 2, "1.10.0", []string{"c", "d"}, fixture.Start.Add(30*time.Minute)
	second.OwnCPU = fixture.DefaultOwnCPU()
	second.OwnCPU[fixture.Rate] *= 2
	items, _ := first.Run()
	more, _ := second.Run()
	root := fixture.Write(t, lengthened(items), lengthened(more))
	months := driftedNames(t)
	for _, args := range [][]string{
		{"regress"}, {"regress", "--method", "threshold"}, {"cost"}, {"cost", "--percentiles"}, {"cost", "--per", "call"},
		{"cost", "--by", "class"}, {"cost", "--by", "service,version"}, {"cost", "--by", "caller,method"}, {"cost", "--by", "environment"},
		{"report", "--format", "text"}, {"explain", "Rate"}, {"check"}, {"compact", "--dry-run", "--max-files", "2"}, {"drift"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			at := root
			if args[0] == "drift" {
				at = months
			}
			r := corehour(append(args, "--warehouse", at)...)
			if r.code == exitFailed || strings.Count(r.stdout, "\n") < 2 {
				t.Fatalf("%+v", r)
			}
			if n := longest(r.stdout); n > output.MaxWidth {
				t.Errorf("a line of %d cells: %s", n, r.stdout)
			}
			if args[0] == "compact" || args[0] == "check" {
				return
			}
			wide := corehour(append(args, "--warehouse", at, "--wide")...)
			if wide.code != r.code || strings.Contains(wide.stdout, "--wide") {
				t.Errorf("--wide: %+v", wide)
			}
			if said, wider := strings.Contains(r.stdout, "--wide"), longest(wide.stdout) > output.MaxWidth; said && !wider {
				t.Errorf("--wide prints nothing more: %+v", wide)
			}
		})
	}
}

func longest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, output.Cells(strings.TrimSuffix(line, "\n")))
	}
	return most
}

// driftedNames returns a warehouse of several months whose methods have long names.
func driftedNames(t *testing.T) string {
	d := months()
	for i, name := range d.Methods {
		d.Methods[i] = strings.Repeat("github.com/acme/platform/", 6) + name
	}
	return d.Write(t)
}

func TestFlagJSON_EqualsFormatJSON(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, evening)
	root := twoReleases(t, 0.5)
	for _, command := range [][]string{
		{"regress"}, {"cost"}, {"drift"}, {"report"}, {"check"}, {"explain", "Rate"}, {"compact", "--dry-run"}, {"sql", "SELECT 1e-9 AS x"},
	} {
		last := ""
		if command[0] == "sql" {
			command, last = command[:1], command[1]
		}
		ask := func(more ...string) result {
			args := append(append(append([]string{}, command...), "--warehouse", root), more...)
			if last != "" {
				args = append(args, last)
			}
			return corehour(args...)
		}
		short, long := ask("--json"), ask("--format", "json")
		if command[0] == "drift" { // too few days for drift, so both print nothing on stdout
			if short.code != long.code || short.stderr != long.stderr {
				t.Errorf("%v: %+v, want %+v", command, short, long)
			}
		} else if err := sameJSON(short.stdout, long.stdout); err != nil || short.code != long.code {
			t.Errorf("%v: %v: %+v, want %+v", command, err, short, long)
		}
		if r := ask("--json", "--format", "csv"); r.code != exitFailed || !strings.Contains(r.stderr, `--json and --format: want one of them, found --format "csv" too`) {
			t.Errorf("%v: %+v", command, r)
		}
	}
}

// sameJSON compares two JSON documents. The engine adds floats in the order in which its threads finish, so the
// last digits of a sum can differ from run to run.
func sameJSON(a, b string) error {
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		return err
	}
	return sameValue("", x, y)
}

func sameValue(at string, x, y any) error {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
		for k := range x {
			if err := sameValue(at+"."+k, x[k], y[k]); err != nil {
				return err
			}
		}
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
		for i := range x {
			if err := sameValue(fmt.Sprintf("%s[%d]", at, i), x[i], y[i]); err != nil {
				return err
			}
		}
	case float64:
		if y, ok := y.(float64); !ok || math.Abs(x-y) > 1e-9*math.Max(math.Abs(x), math.Abs(y)) {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
	default:
		if x != y {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
	}
	return nil
}
