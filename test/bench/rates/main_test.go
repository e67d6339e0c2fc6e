//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/corehour/corehour/test/bench/results"
)

// TestMain lets the test binary act as the serving process.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--serve") {
		main()
		return
	}
	os.Exit(m.Run())
}

// A small run reports a value for every figure.
func TestMeasure(t *testing.T) {
	var out bytes.Buffer
	if err := measure(t.Context(), &out, 20, 10, 2); err != nil {
		t.Fatal(err)
	}
	var report results.Table
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Results) != 7 {
		t.Fatalf("%v: %s", err, &out)
	}
	for _, f := range report.Results {
		if f.Value <= 0 && f.Name != "memory per waiting SDK" { // few clients need no measurable memory
			t.Errorf("%s: %v", f.Name, f.Value)
		}
	}
}
