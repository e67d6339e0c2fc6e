package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corehour/corehour/test/figures"
)

// TestMain lets the MooBench part start the test program again, as it starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == oneStartFlag {
		main()
		return
	}
	os.Exit(m.Run())
}

// A report that is not written (JSON knows no infinity) or lacks a row is a fault.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := runBenchmarks(options{out: dir, rounds: 3, spans: 2 * recordsPerBatch, starts: 2, pairs: 2}); err != nil {
		t.Fatal(err)
	}

	paths := read(t, dir, "sdk")
	for _, name := range []string{
		"disabled",
		"not chosen, rate 0.001, counted", "the same in two goroutines",
		"disabled, defer form, added", "not chosen, defer form, added",
		"wall", "wall and caller",
		"wall and CPU", "the same with wall and CPU at rate 1",
		"aggregated, every call", "aggregated, every call, compared with otel",
		"depth 10 at 0.001",
		"allocations per call, all paths", "calls miscounted of 4,000,000", "of them false",
		"encoding of a record, wall", "encoding of a record, wall, CPU and caller",
		"export of a record, from call to answer", "export compared with otel",
		"memory of a method seldom called", "memory of 10,000 methods",
	} {
		if r := row(t, paths, name); r.Goal == nil {
			t.Errorf("%s: no goal", name)
		}
	}
	for _, name := range []string{"not chosen, compared with a counter", "aggregated, every call, compared with a counter and a histogram",
		"disabled, compared with a no-op tracer", "not chosen, two goroutines, compared with otel", "aggregated, two goroutines, compared with otel",
		"floor: one locked add", "floor: two clock readings"} {
		if r := row(t, paths, name); r.Peer == "" {
			t.Errorf("%s: no peer", name)
		}
	}
	// What holds on any machine, however busy.
	for _, name := range []string{"calls miscounted of 4,000,000", "of them false"} {
		if r := row(t, paths, name); r.Value != 0 {
			t.Errorf("%s: %v", name, r.Value)
		}
	}

	moo := read(t, dir, "sdk-moobench")
	for _, v := range variants(peers{}) {
		low, middle, high := row(t, moo, v.name+", lower quartile").Value, row(t, moo, v.name+", median").Value, row(t, moo, v.name+", upper quartile").Value
		if mean := row(t, moo, v.name+", mean").Value; mean <= 0 || low > middle || middle > high || row(t, moo, v.name+", 95% interval +-").Value < 0 {
			t.Errorf("%s: mean %v, quartiles %v, %v, %v", v.name, mean, low, middle, high)
		}
	}
	if row(t, moo, "combined, less the bare recursion").Goal == nil {
		t.Error("no goal of the combined variant")
	}
	for _, depth := range grownDepths {
		for _, name := range []string{mooNone, mooCombined, mooSums, mooEvery} {
			if row(t, moo, grownName(depth, name)).Value <= 0 {
				t.Errorf("%s: not positive", grownName(depth, name))
			}
		}
	}

	harm := read(t, dir, "sdk-harmless")
	for _, is := range states {
		if r := row(t, harm, "collector "+string(is)+": throughput on/off"); r.Value <= 0 || r.Goal == nil || *r.Goal != 0.99 {
			t.Errorf("%s: %+v", is, r)
		}
	}
}

func read(t *testing.T, dir, name string) figures.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var report figures.Run
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range report.Results {
		if seen[r.Name] {
			t.Errorf("%s: two rows are called %q", name, r.Name)
		}
		seen[r.Name] = true
	}
	return report
}

func row(t *testing.T, report figures.Run, name string) figures.Result {
	t.Helper()
	i := slices.IndexFunc(report.Results, func(r figures.Result) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("%s has no row %q", report.Name, name)
	}
	return report.Results[i]
}
