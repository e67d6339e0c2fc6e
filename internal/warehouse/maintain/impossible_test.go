package maintain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// spoilt returns a warehouse of two dates with rollups. Some of their rows have impossible values.
func spoilt(t *testing.T) *sumsWorld {
	w := newSumsWorld(t, 23)
	for day := 1; day <= 2; day++ {
		w.write("shop", day, 300)
		w.items++
		id := fmt.Sprintf("item-%d", w.items)
		it := methodspan.Item{ID: id}
		for i := range 30 {
			start := w.now.AddDate(0, 0, -day).UnixNano() + int64(i)
			r := methodspan.Row{
				Resource: &methodspan.Resource{Service: "evil"}, Kind: methodspan.KindAggregate, Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact,
				Class: "c", Method: "m", StartNS: start, EndNS: start + 10, Measured: 5, WallNS: 7, WallSq: 49, WallMaxNS: 7, P: 1, BatchID: id, RowSeq: int32(i),
			}
			switch i % 3 {
			case 0:
				r.Measured = math.MaxInt64
			case 1:
				r.EndNS = math.MaxInt64
			}
			it.Rows = append(it.Rows, r)
		}
		if _, err := w.w.Write(t.Context(), []methodspan.Item{it}); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(2 * time.Hour)
	if did := w.run(Policy{MaxFiles: 200, SumRows: 1}); !slices.Equal(did, []Action{Sum, Sum}) {
		t.Fatal(did)
	}
	return w
}

// believed returns the bounded rows of all files in sorted order, the number of rollups, and the number of rows
// with impossible values.
func (w *sumsWorld) believed() (rows []string, sums int, wrong int) {
	w.t.Helper()
	s, err := table.Open(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range s.Files {
		of, err := rowsIn(f.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range of {
			if of[i].Bound(methodspan.Until(w.now)) {
				wrong++
			}
			of, r := *of[i].Resource, of[i]
			r.Resource = nil
			rows = append(rows, fmt.Sprintf("%+v %+v", of, r))
		}
	}
	if err := sumsAgree(s); err != nil && wrong == 0 {
		w.t.Error(err)
	}
	slices.SortFunc(rows, cmp.Compare)
	return rows, len(s.Sums), wrong
}

// If a run fails at any step, readers get the same rows as before, and the next run completes the work.
func TestDropImpossible_StoppedAtEveryStep(t *testing.T) {
	failed := errors.New("it ends here")
	stride := 3 // odd, to alternate between failing before and after a step
	if testing.Short() {
		stride = 21
	}
	for n := 0; ; n += stride {
		w := spoilt(t)
		want, sums, wrong := w.believed()
		if wrong != 40 || sums != 2 {
			t.Fatalf("%d rows are wrong, %d dates have sums", wrong, sums)
		}
		dry := w.job(Policy{SumRows: 1})
		dry.DryRun = true
		report, err := dry.DropImpossible(t.Context())
		if err != nil || len(report.Impossible) != 2 || report.Impossible[0].Rows+report.Impossible[1].Rows != 40 || !slices.Equal(actionsOf(report), []Action{Mend, Mend}) {
			t.Fatalf("%v: %+v", err, report)
		}
		steps, ended := 0, false
		job := w.job(Policy{MaxFiles: 200, SumRows: 1})
		job.Parquet = job.Parquet.Inject(func(string, string, bool) error {
			if steps++; ended || steps > n {
				ended = true
				return failed
			}
			return nil
		})
		_, err = job.DropImpossible(t.Context())
		if got, _, _ := w.believed(); !slices.Equal(got, want) {
			t.Fatalf("after %d steps rows are others", n)
		}
		if !ended && err != nil || ended && !errors.Is(err, failed) {
			t.Fatalf("after %d steps: %v", n, err)
		}
		if _, err := w.job(Policy{MaxFiles: 200, SumRows: 1}).DropImpossible(t.Context()); err != nil {
			t.Fatalf("after %d steps: %v", n, err)
		}
		w.run(Policy{MaxFiles: 200, SumRows: 1}) // makes the rollups that the failed run did not make
		got, sums, wrong := w.believed()
		if !slices.Equal(got, want) || wrong > 0 || sums != 2 {
			t.Fatalf("after %d steps: %d rows are wrong, %d dates have sums", n, wrong, sums)
		}
		if !ended {
			t.Logf("%d steps", steps)
			if steps < 50 {
				t.Error("these are too few")
			}
			return
		}
	}
}

// A row that starts in the future is not read yet, so its end is not bounded.
func TestDropImpossible_KeepsFutureRows(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	start := now.Add(20 * time.Hour).UnixNano()
	r := methodspan.Row{StartNS: start, EndNS: start + 5, Measured: 1, WallNS: 5, P: 1}
	if r.Bound(methodspan.Until(now)) || r.EndNS != start+5 {
		t.Errorf("%+v", r)
	}
	r.P = math.Inf(1)
	if !r.Bound(methodspan.Until(now)) || r.EndNS != start+5 || r.P != 0 {
		t.Errorf("%+v", r)
	}
}
