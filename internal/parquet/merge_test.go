package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
)

// Copying columns gives, byte by byte, the file that adding row after row gives:
// with row groups that end anywhere, names that need counting, and ids left out.
func TestMergeIsAddingRows(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		root := t.TempDir()
		w := openWriter(t, root, Options{})
		w.encoder.groupRows = []int{7, 50, rowGroupRows}[seed%3]
		var files, rows = 1 + rng.IntN(6), 0
		for n := range files {
			it := methodspan.Item{ID: fmt.Sprint("item-", n)}
			resources := anyResources(rng, 1+rng.IntN(8))
			for i := range 1 + rng.IntN(120) {
				r := anyRow(rng, resources)
				r.BatchID, r.RowSeq = it.ID, int32(i)
				if seed == 5 {
					r.Stack = strings.Repeat(fmt.Sprint(i), 1<<14)
				}
				it.Rows = append(it.Rows, r)
			}
			rows += len(it.Rows)
			write(t, w, it)
		}
		w.Close()
		m := openMaintainer(t, root, Options{})
		m.encoder.groupRows = []int{11, 64, rowGroupRows}[seed/2]
		dates, err := m.Dates()
		if err != nil {
			t.Fatal(err)
		}
		d := dates[0]
		for _, without := range [][]string{nil, {"trace_id", "stack", "request_id"}} {
			made := func(how string, fill func(*stream, *Run) error) fileEntry {
				entry, err := m.write(context.Background(), fileEntry{Path: datePrefix + d.Date + "/" + how}, func(s *stream) error {
					run, err := OpenRun(context.Background(), d.Files, RunOptions{Without: without})
					if err != nil {
						return err
					}
					defer run.Close()
					return fill(s, run)
				})
				if err != nil {
					t.Fatal(err)
				}
				entry.Path = ""
				return entry
			}
			want := made("by-rows", addAll)
			got := made("by-columns", func(s *stream, r *Run) error { return r.copyTo(s) })
			if !reflect.DeepEqual(got, want) || got.Rows != int64(rows) {
				t.Errorf("seed %d: %+v by columns, %+v by rows", seed, got, want)
			}
		}
		merged, err := m.Merge(context.Background(), d.Date, d.Files, Output{Kind: KindMerge})
		if err != nil || merged.Rows != int64(rows) {
			t.Errorf("%+v: %v", merged, err)
		}
	}
}

func addAll(s *stream, r *Run) error {
	for {
		row, err := r.Next()
		if row == nil || err != nil {
			return err
		}
		if err := s.add(row); err != nil {
			return err
		}
	}
}
