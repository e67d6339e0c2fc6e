package parquet

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
)

// Merging column by column writes the same bytes in each row group as adding the rows one by one; only
// the offsets differ. The row groups of the input end anywhere, some names are long enough to be
// counted, and some ids are left out. Some files have row groups of counts, others have none.
func TestMerge_EqualsAddedRows(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	for seed := range uint64(12) {
		long := seed%6 == 5 // row groups end because of the length of names,
		wide := seed%6 == 4 // or because of the number of bins
		rng := rand.New(rand.NewPCG(seed, 1))
		root := t.TempDir()
		raw := NewEncoder()
		raw.groupRows = []int{7, 50, rowGroupRows}[seed%3]
		var files []File
		rows := 0
		for n := range 1 + rng.IntN(6) {
			it := methodspan.Item{ID: fmt.Sprint("item-", n)}
			resources := anyResources(rng, 1+rng.IntN(8))
			least := 1
			if long || wide {
				least = 70
			}
			for i := range least + rng.IntN(120-least) {
				r := anyRow(rng, resources)
				r.BatchID, r.RowSeq = it.ID, int32(i)
				if rng.IntN(2) == 0 {
					r.Kind = methodspan.KindCounts
				}
				if wide {
					r.WallHist, r.CPUHist = anyBins(rng, 300), anyBins(rng, 300)
					r.Stack, r.RequestID, r.Caller, r.Signature = "", "", "", "" // short enough not to be counted
				}
				if long {
					r.Stack = strings.Repeat(fmt.Sprint(i), 1<<14)
				}
				it.Rows = append(it.Rows, r)
			}
			rows += len(it.Rows)
			pointers := make([]*methodspan.Row, len(it.Rows))
			for i := range it.Rows {
				pointers[i] = &it.Rows[i]
			}
			raw.groupCounts = []int{1, 4, rowGroupRows}[n%3]
			var data bytes.Buffer
			summary, err := raw.Encode(&data, pointers, &WriteGroup{})
			path := filepath.Join(root, it.ID)
			if err == nil {
				err = os.WriteFile(path, data.Bytes(), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, File{Path: path, Rows: summary.Rows, Bytes: summary.Bytes, Checksum: summary.Checksum})
		}
		e := NewEncoder()
		e.groupRows = []int{11, 64, rowGroupRows}[seed/2%3]
		e.groupCounts = []int{1, 4, rowGroupCounts}[seed%3]
		if long || wide {
			e.groupWeight = 1<<20 + binWeight - 1 // so that only bins decide, not names that are too short to be counted
		}
		without := []string{"trace_id", "stack", "request_id"}
		if long {
			without = without[:1]
		}
		for _, without := range [][]string{nil, without} {
			made := func(how string, fill func(*Stream) error) (Summary, []string) {
				f, err := os.Create(filepath.Join(root, how))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				summary, err := e.Stream(f, f.Name(), fill)
				if err != nil {
					t.Fatal(err)
				}
				summary.Checksum = ""
				return summary, contentOf(t, f.Name())
			}
			want, wantContent := made("by-rows", func(s *Stream) error {
				run, err := OpenRun(context.Background(), files, RunOptions{Without: without})
				if err != nil {
					return err
				}
				defer run.Close()
				return addAll(s, run)
			})
			got, gotContent := made("by-columns", func(s *Stream) error { return s.Merge(context.Background(), files, without) })
			got.Bytes = want.Bytes // larger offsets take more bytes in the footer
			if got != want || got.Rows != int64(rows) {
				t.Errorf("seed %d without %v: %+v by columns, %+v by rows", seed, without, got, want)
			}
			if !slices.Equal(gotContent, wantContent) {
				t.Errorf("seed %d without %v: the files differ", seed, without)
			}
			if counts, mixed := kindsOf(t, filepath.Join(root, "by-columns"), got); e.groupCounts == 1 && (counts == 0 || mixed > 0) || e.groupCounts == rowGroupCounts && mixed == 0 {
				t.Errorf("seed %d: %d counts are in row groups of their own, %d are not", seed, counts, mixed)
			}
		}
	}
}

// kindsOf checks that the rows of a file are in order. It returns the number of counts rows in row
// groups of their own, and in mixed row groups.
func kindsOf(t *testing.T, path string, s Summary) (alone, mixed int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	run, err := OpenRun(context.Background(), []File{{Path: path, Rows: s.Rows, Bytes: int64(len(data)), Checksum: FormatChecksum(crc32.Checksum(data, castagnoli))}}, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var last methodspan.Row
	for n := int64(0); ; n++ {
		row, err := run.Next()
		if err != nil {
			t.Fatal(err)
		}
		if row == nil {
			if n != s.Rows {
				t.Errorf("%d rows are read of %d", n, s.Rows)
			}
			return alone, mixed
		}
		if n > 0 && Compare(&last, row) > 0 {
			t.Errorf("row %d is out of order", n)
		}
		last = *row
		if source := run.current; row.Kind == methodspan.KindCounts {
			if onlyCounts(&source.file.Metadata().RowGroups[source.group]) {
				alone++
			} else {
				mixed++
			}
		}
	}
}

// contentOf returns the metadata and the bytes of each column of each row group of a file.
func contentOf(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := openFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var content []string
	for _, g := range file.Metadata().RowGroups {
		content = append(content, fmt.Sprint(g.NumRows, g.Ordinal, g.TotalByteSize, g.TotalCompressedSize, g.SortingColumns))
		for _, c := range g.Columns {
			meta := c.MetaData
			begin := meta.DataPageOffset
			if meta.DictionaryPageOffset != 0 {
				begin = meta.DictionaryPageOffset
			}
			held := data[begin : begin+meta.TotalCompressedSize]
			meta.DataPageOffset -= begin
			meta.DictionaryPageOffset -= min(begin, meta.DictionaryPageOffset)
			content = append(content, fmt.Sprintf("%+v %x", meta, held))
		}
	}
	return content
}

func addAll(s *Stream, r *Run) error {
	for {
		row, err := r.Next()
		if row == nil || err != nil {
			return err
		}
		if err := s.AddRow(row); err != nil {
			return err
		}
	}
}

// anyBins returns a histogram of fewer than most bins.
func anyBins(rng *rand.Rand, most int) methodspan.Histogram {
	h := make(methodspan.Histogram, rng.IntN(most))
	for i := range h {
		h[i] = methodspan.Bin{Bin: int32(i), N: rng.Float64()}
	}
	return h
}
