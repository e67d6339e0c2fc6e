package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/figures"
)

func TestShowReport_ComparesWithGoals(t *testing.T) {
	in := `{"name": "sim", "results": [
		{"name": "false alarms", "value": 0.4, "unit": "per 1000", "better": "lower", "goal": 0.3},
		{"name": "power", "value": 80, "unit": "%", "better": "higher", "goal": 75},
		{"name": "error", "value": 3, "unit": "%", "better": "lower", "goal": 0.5, "peer": "uniform", "peer_value": 4},
		{"name": "rounds", "value": 3, "unit": "ms", "better": "lower", "goal": 0.5, "peer": "plain", "peer_value": 4, "ratio": 0.4}]}`
	dir := filepath.Join(t.TempDir(), "bench")
	var table strings.Builder
	if err := showReport(strings.NewReader(in), &table, dir); err != nil {
		t.Fatal(err)
	}
	if got := table.String(); !strings.Contains(got, "short") || !strings.Contains(got, "ok") {
		t.Errorf("the table judges nothing:\n%s", got)
	}
	data, err := os.ReadFile(filepath.Join(dir, "sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report figures.Run
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 4 || report.Results[0].OK || !report.Results[1].OK || *report.Results[2].Ratio != 0.75 || report.Results[2].OK ||
		*report.Results[3].Ratio != 0.4 || !report.Results[3].OK {
		t.Errorf("written: %+v", report.Results)
	}
}

func TestShowReport_InvalidInput(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":   ``,
		"no result": `{"name": "sim", "results": []}`,
		"no sense":  `{"name": "sim", "results": [{"name": "x", "value": 1, "better": "bigger"}]}`,
		"unknown":   `{"name": "sim", "commit": "1", "results": [{"name": "x", "value": 1, "better": "lower"}]}`,
	} {
		if err := showReport(strings.NewReader(in), &strings.Builder{}, t.TempDir()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
