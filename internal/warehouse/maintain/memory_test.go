package maintain

import (
	"fmt"
	"slices"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Each merge step reads as many files as fit into memory, but at least two.
func TestMerge_BoundedByMemory(t *testing.T) {
	for _, c := range []struct {
		inMemory int64
		files    []int64 // rows of each
		want     []int64
	}{
		{0, []int64{3, 1, 2}, []int64{1, 2, 3}},
		{1, []int64{4, 1, 2, 2, 3}, []int64{1, 2}},
		{2, []int64{4, 1, 2, 2, 3}, []int64{1, 2, 2, 3}},
		{1, []int64{9, 8, 7}, []int64{7, 8}},
		{rowGroupRows / 2, []int64{5 * rowGroupRows, 9 * rowGroupRows, 7 * rowGroupRows}, []int64{5 * rowGroupRows, 7 * rowGroupRows}},
		{0, []int64{smallRows - 2, 1, smallRows - 3, smallRows - 1}, []int64{1, smallRows - 3, smallRows - 2}},
		{1000, []int64{1}, []int64{1}},
		{1000, []int64{10, -11, -12, -13, 14, 15}, []int64{10, 11, 12}},
		{1000, []int64{-11, -12, -13}, []int64{11, 12}},
	} {
		t.Run(fmt.Sprintf("%d of %v", c.inMemory, c.files), func(t *testing.T) {
			r := &runner{Job: &Job{RowsInMemory: c.inMemory}}
			var files []parquet.File
			for _, rows := range c.files {
				f := file(methodspan.LevelRaw, max(rows, -rows))
				if rows < 0 { // with large histograms
					f.GroupBytes = 1000 * 128
				}
				files = append(files, f)
			}
			var got []int64
			for _, f := range r.batch(files, merging) {
				got = append(got, f.Rows)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("merges files of %d rows, want %d", got, c.want)
			}
		})
	}
}

// Before a rollup, only as many files are merged as necessary.
func TestMerge_AsFewFilesAsNeeded(t *testing.T) {
	r := &runner{Job: &Job{RowsInMemory: 2 * rowGroupRows}} // four row groups of whole rows
	for _, c := range []struct{ files, want []int64 }{
		{[]int64{9, 8, 7, 6, 5}, []int64{5, 6}},
		{[]int64{9, 8, 7, 6, 5, 4}, []int64{4, 5, 6}},
	} {
		var files []parquet.File
		for _, n := range c.files {
			files = append(files, file(methodspan.LevelRaw, n*rowGroupRows))
		}
		var got []int64
		for _, f := range r.asFewAsNeeded(files, r.batch(files, preparing)) {
			got = append(got, f.Rows/rowGroupRows)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v row groups %v are merged, want %v", c.files, got, c.want)
		}
	}
}

// Merging rewrites each row about once, not each time its file's size doubles. This also holds for a collector,
// which uses less memory than the command.
func TestMerge_RewritesRowsOnce(t *testing.T) {
	for _, inMemory := range []int64{250_000, DefaultRowsInMemory} {
		r := &runner{Job: &Job{RowsInMemory: inMemory}}
		var files []parquet.File
		var written, rewritten int64
		for range 1000 {
			f := file(methodspan.LevelRaw, 33_000)
			files = append(files, f)
			written += f.Rows
		}
		for {
			merged := r.batch(small(files), merging)
			if len(merged) < 2 {
				break
			}
			f := file(methodspan.LevelRaw, rowsOf(merged))
			for _, m := range merged {
				i := slices.Index(files, m)
				files = slices.Delete(files, i, i+1)
			}
			files = append(files, f)
			rewritten += f.Rows
			if f.Rows >= 2*smallRows {
				t.Errorf("a file of %d rows takes longer to make than it has to", f.Rows)
			}
		}
		if float64(rewritten) > 1.05*float64(written) {
			t.Errorf("with %d rows in memory each row is written again %.2f times, want 1", inMemory, float64(rewritten)/float64(written))
		}
		if len(small(files)) > 1 || int64(len(files)) > written/smallRows+1 {
			t.Errorf("%d files are left, %d of them small", len(files), len(small(files)))
		}
	}
}
