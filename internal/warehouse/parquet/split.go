package parquet

import (
	"bytes"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// Nearly all rows are counts of calls, and most queries read only the other rows. So the counts of a row
// group become a row group of their own, after that of the other rows. Readers skip it by the minimum
// and maximum of the column kind. A few counts do not get their own row group, because each row group
// takes some kB.

// splitCounts splits rows that are in order into other rows and counts; both stay in order. It returns
// one part if there are fewer counts than least, or no other rows.
func splitCounts[T any](order []T, least int, isCounts func(i int) bool) [][]T {
	n := 0
	for i := range order {
		if isCounts(i) {
			n++
		}
	}
	if n < least || n == len(order) {
		return [][]T{order}
	}
	split := make([]T, len(order))
	others, counts := 0, len(order)-n
	for i, row := range order {
		if isCounts(i) {
			split[counts] = row
			counts++
		} else {
			split[others] = row
			others++
		}
	}
	return [][]T{split[:others], split[others:]}
}

// chainsOf returns the chains of a file: row groups of other rows, and row groups of counts alone. The
// rows of a chain are in order. Empty chains are left out.
func chainsOf(file *pq.File) [][]int {
	var others, counts []int
	for i := range file.Metadata().RowGroups {
		if onlyCounts(&file.Metadata().RowGroups[i]) {
			counts = append(counts, i)
		} else {
			others = append(others, i)
		}
	}
	return slices.DeleteFunc([][]int{others, counts}, func(chain []int) bool { return len(chain) == 0 })
}

// onlyCounts reports whether all rows of a row group are counts according to its statistics.
func onlyCounts(g *format.RowGroup) bool {
	for i := range g.Columns {
		if m := &g.Columns[i].MetaData; len(m.PathInSchema) == 1 && m.PathInSchema[0] == "kind" {
			s := &m.Statistics
			return s.NullCount == 0 && string(s.MinValue) == methodspan.KindCounts && bytes.Equal(s.MinValue, s.MaxValue)
		}
	}
	return false
}
