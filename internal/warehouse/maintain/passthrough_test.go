package maintain

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/internal/weights"
)

// If a method has more environments than fit into memory, some of them are rolled up and the others' rows are
// kept. The estimates of every environment stay the same.
func TestRollup_ManyEnvironments(t *testing.T) {
	const environments, beyond = maxCells + 60, 60
	now := noon
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	root := t.TempDir()
	w, err := table.NewWriter(root, options)
	if err != nil {
		t.Fatal(err)
	}
	begin := noon.Add(-10 * day)
	it := methodspan.Item{ID: "item-1"}
	add := func(environment, minute, second int, r methodspan.Row) {
		// Rows of different environments alternate within each minute.
		r.StartNS = begin.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(environment)*time.Millisecond).UnixNano()
		r.Resource = &methodspan.Resource{Service: "shop", Environment: fmt.Sprint("pr-", environment)}
		r.Level, r.EndNS, r.BatchID, r.RowSeq = methodspan.LevelRaw, r.StartNS+r.WallNS, it.ID, int32(len(it.Rows))
		it.Rows = append(it.Rows, r)
	}
	for e := range environments {
		add(e, 0, 0, methodspan.Row{Kind: methodspan.KindProcess, CPUMeasured: 1, CPUNS: 5e9, P: 1, CPUP: 1, Process: &methodspan.ProcessStats{Cores: 2}})
		for minute := range 3 {
			add(e, minute, 0, methodspan.Row{Kind: methodspan.KindCounts, Method: "Busy", Calls: float64(20 + e + minute)})
			for i := range 2 {
				add(e, minute, 30*i, methodspan.Row{
					Kind: methodspan.KindCall, Method: "Busy", Measured: 1, WallNS: int64(1000 + e*i), P: 0.25, CPUMeasured: 1, CPUNS: int64(500 + e*i), CPUP: 0.5,
					TraceID: [16]byte{1}, SpanID: [8]byte{2}, RequestID: "r",
				})
			}
		}
	}
	if _, err := w.Write(t.Context(), []methodspan.Item{it}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want, raw := estimates(t, root)
	if raw != len(it.Rows) || len(want) != environments {
		t.Fatalf("%d rows in %d environments", raw, len(want))
	}
	now = now.Add(2 * time.Hour)
	for _, c := range []struct {
		policy Policy
		kept   int
		sums   int64 // rolled-up rows: calls, counts and processes
	}{
		{Policy{MaxFiles: 200, MinuteAfter: 7 * day}, beyond * 9, maxCells*(3+3) + environments},
		{Policy{MaxFiles: 200, MinuteAfter: 7 * day, HourAfter: 8 * day}, 0, environments * (1 + 1 + 1)}, // the kept rows now fit into memory
	} {
		job := Job{Root: root, Policy: c.policy, Parquet: options}
		report, err := job.Run(t.Context())
		if err != nil || len(report.Steps) != 1 || report.Kept != int64(c.kept) {
			t.Fatalf("%+v, %v, want %d rows kept", report, err, c.kept)
		}
		if sums := report.Steps[0].OutRows - report.Kept; sums != c.sums {
			t.Errorf("%d sums, want %d: a sum is of all rows of its minute or hour", sums, c.sums)
		}
		got, raw := estimates(t, root)
		if raw != c.kept {
			t.Errorf("%d raw rows are left, want %d", raw, c.kept)
		}
		for name, e := range want {
			for i := range e {
				if math.Abs(got[name][i]-e[i]) > 1e-9*e[i] {
					t.Fatalf("%v after %s: %v, want %v", name, report.Steps[0].Action, got[name], e)
				}
			}
		}
		if report, err := job.Run(t.Context()); err != nil || len(report.Steps) > 0 {
			t.Errorf("%+v, %v, want nothing to do", report, err)
		}
	}
}

// estimates returns, by environment, the estimated calls, wall time and CPU time of all calls and the CPU time of
// processes. It also returns the number of raw rows.
func estimates(t *testing.T, root string) (map[string][4]float64, int) {
	t.Helper()
	s, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	cells, sums, raw := map[string]*weights.Cells{}, map[string][4]float64{}, 0
	for _, weighing := range []bool{false, true} {
		for _, f := range s.Files {
			rows, err := parquet.ReadRows(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				r := &rows[i]
				name := r.Resource.Environment
				if cells[name] == nil {
					cells[name] = &weights.Cells{}
				}
				if !weighing {
					cells[name].Add(r)
					continue
				}
				if r.Level == methodspan.LevelRaw {
					raw++
				}
				if f.NoIDs && (r.TraceID != [16]byte{} || r.SpanID != [8]byte{} || r.RequestID != "") {
					t.Fatalf("a row has its ids still: %+v", r)
				}
				weight, e := cells[name].Weigh(r), sums[name]
				e[0] += r.Calls
				e[1] += weight.Wall * float64(r.WallNS)
				e[2] += weight.W * float64(r.CPUNS)
				if r.Kind == methodspan.KindProcess {
					e[3] += float64(r.CPUNS)
				}
				sums[name] = e
			}
		}
	}
	return sums, raw
}
