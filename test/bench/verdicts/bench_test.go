//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/sim"
)

// exitVariable makes the test binary act as the command and exit with the given status.
const exitVariable = "BENCHVERDICTS_TEST_EXIT"

func TestMain(m *testing.M) {
	switch os.Getenv(exitVariable) {
	case "":
		os.Exit(m.Run())
	case "0":
		os.Exit(0)
	case "1":
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "told by the command")
	os.Exit(2)
}

func command(t *testing.T, exit string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(exitVariable, exit)
	return self
}

var small = size{methods: 12, days: 30, yearMethods: 3, fleet: fleet{processes: 5, methods: 4, minutes: 90}}

// All drawn data is stored and found again, and every figure is reported.
func TestRunBenchmark_Small(t *testing.T) {
	dir := t.TempDir()
	table, err := runBenchmark(context.Background(), command(t, "1"), dir, small)
	if err != nil {
		t.Fatal(err)
	}
	values, goals := map[string]float64{}, 0
	for _, f := range table.Results {
		values[f.Name] = f.Value
		if f.Goal != nil {
			goals++
		}
	}
	if goals != 4 {
		t.Errorf("%d figures have a goal, want those of an evaluation of a deployment and of a year, and the fleet's time and memory", goals)
	}
	for _, want := range []string{
		"corehour regress on it", "corehour regress on it, CPU", "corehour regress on it, greatest memory",
		"corehour drift on it", "corehour drift on it, CPU", "corehour drift on it, greatest memory",
		"rows stored, 12 methods, 56 processes, 90 minutes", "one look at 12 methods, 56 processes, 90 minutes, after the query",
		"rows stored, 3 methods, 30 days, one sum of an hour each method, caller and date", "one look for drift at 3 methods, 30 days, after the query",
		"query of the days, 270 of them",
		"corehour regress on 5 processes, 4 methods, 90 minutes, greatest memory",
	} {
		if _, ok := values[want]; !ok {
			t.Errorf("there is no figure %q", want)
		}
	}
	// 3 methods with 3 callers each.
	if rows := values["rows stored, 3 methods, 30 days, one sum of an hour each method, caller and date"]; rows != 270 {
		t.Errorf("%v rows of the year are stored", rows)
	}
	// Four processes run for 90 minutes and one for 60. Each minute has a process row and counts of four methods, and
	// every method is measured in one minute of 30.
	if rows := values["rows stored, 5 processes, 4 methods, 90 minutes"]; rows != (4*90+60)*(1+4)+(4*90+60)*4/30 {
		t.Errorf("%v rows of the fleet are stored", rows)
	}
	if !slices.ContainsFunc(table.Results, func(f sim.Figure) bool { return strings.HasPrefix(f.Name, "query of the cells, ") }) {
		t.Error("nothing is told of the query of the cells")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind: %v", left, err)
	}
}

// A failing command prints an error, and no figure is reported for it.
func TestRunBenchmark_CommandFails(t *testing.T) {
	for exit, want := range map[string]string{"2": "told by the command", "0": "status 0"} {
		_, err := runBenchmark(context.Background(), command(t, exit), t.TempDir(), small)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("status %s: want an error that says %q, found %v", exit, want, err)
		}
	}
	if _, err := runBenchmark(context.Background(), "", t.TempDir(), small); err == nil || !strings.Contains(err.Error(), "--corehour") {
		t.Errorf("without a command: %v", err)
	}
}
