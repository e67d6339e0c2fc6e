package figures

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	r := New("pipeline")
	r.Compare("cpu", 6, "CPU-s/M spans", "stock", 4, Lower, Goal(2))
	r.Compare("late", 9, "s", "stock", 4, Lower, Goal(2))
	r.Add("rows", 5, "rows/s", Higher, Goal(6))
	r.Add("told", 5, "B", Lower, nil)
	for i, want := range []bool{true, false, false, true} {
		if r.Results[i].OK != want {
			t.Errorf("result %d: ok = %v, want %v", i, r.Results[i].OK, want)
		}
	}
	var table strings.Builder
	if err := r.Print(&table); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(lines) != 6 || !strings.HasSuffix(strings.TrimSpace(lines[2]), "ok") || !strings.HasSuffix(strings.TrimSpace(lines[3]), "short") {
		t.Errorf("table:\n%s", table.String())
	}
	want := "2 of 4 figures miss their goals:\n  late: 2.25, not <= 2 of stock\n  rows: 5, not >= 6 rows/s"
	if err := r.Missed(); err == nil || err.Error() != want {
		t.Errorf("missed: %v, want %s", err, want)
	}
	if err := New("empty").Missed(); err != nil {
		t.Errorf("missed of no figures: %v", err)
	}

	dir := filepath.Join(t.TempDir(), "bench")
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "pipeline.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back Run
	if err := json.Unmarshal(data, &back); err != nil || len(back.Results) != 4 || *back.Results[0].Ratio != 1.5 || back.Machine == "" {
		t.Errorf("read back %+v, %v", back, err)
	}
}
