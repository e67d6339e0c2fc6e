package lake

import (
	"fmt"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// Each step of merging reads what fits into memory, and two files at least.
func TestMergesWhatFits(t *testing.T) {
	for _, c := range []struct {
		inMemory int64
		files    []int64 // rows of each
		want     []int64
	}{
		{0, []int64{3, 1, 2}, []int64{1, 2, 3}},
		{5, []int64{4, 1, 2, 2, 3}, []int64{1, 2, 2}},
		{5, []int64{9, 8, 7}, []int64{7, 8}},
		{2 * rowGroupRows, []int64{5 * rowGroupRows, 9 * rowGroupRows, 7 * rowGroupRows}, []int64{5 * rowGroupRows, 7 * rowGroupRows}},
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
