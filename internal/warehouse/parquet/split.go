package parquet

import (
	"bytes"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// Nearly all rows count calls, and most statements want the others. So the counts of a row group
// are one of their own, behind that of the others, and readers skip it: what a row group has at
// least and at most of a column says so. Few counts are not worth it: a row group takes some kB.

// splitCounts parts what is in order into others and counts, which stay in order. It is one part
// if there are fewer counts than least, or no others.
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

// chainsOf are the row groups of a file whose rows are in order: of counts alone, and the others.
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

// onlyCounts reports whether a row group says that all its rows are counts.
func onlyCounts(g *format.RowGroup) bool {
	for i := range g.Columns {
		if m := &g.Columns[i].MetaData; len(m.PathInSchema) == 1 && m.PathInSchema[0] == "kind" {
			s := &m.Statistics
			return s.NullCount == 0 && string(s.MinValue) == methodspan.KindCounts && bytes.Equal(s.MinValue, s.MaxValue)
		}
	}
	return false
}
