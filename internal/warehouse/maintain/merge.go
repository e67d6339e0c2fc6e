package maintain

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// resident is how many rows of a file are in memory while it is read.
func resident(f parquet.File) int64 { return min(f.Rows, rowGroupRows) }

// room is what may be in memory for each of Job.RowsInMemory rows: rows, and bytes of
// row groups before compression, which bound rows that are large, as those with
// histograms are.
type room struct {
	rows, bytes int64
	enough      int64 // rows of a file that need not get larger, 0 for none
}

// Files are merged all day long, and of what they hold a column is in memory at a time.
// As many small ones are merged at once as make a large one, or rows would be written
// again for every doubling of their file. A date is added up once, row by row; whatever
// does not fit then has to be merged first, again and again.
var (
	merging   = room{4, 256, smallRows}
	stripping = room{1, 256, 0}
	preparing = room{4, 1024, 0}
	wholeRows = room{2, 256, 0}
)

// fits reports whether files can be read side by side.
func (r *runner) fits(files []parquet.File, in room) bool {
	var rows, bytes int64
	for _, f := range files {
		rows += resident(f)
		bytes += f.GroupBytes
	}
	n := cmp.Or(r.RowsInMemory, DefaultRowsInMemory)
	return len(files) <= maxOpenFiles && rows <= in.rows*n && bytes <= in.bytes*n
}

// full reports whether files make one that is large enough.
func (in room) full(files []parquet.File) bool { return in.enough > 0 && rowsOf(files) >= in.enough }

// fetchable reports whether files can be fetched at once.
func (r *runner) fetchable(files []parquet.File) bool {
	return r.FetchBytes == 0 || sizeOf(files) <= r.FetchBytes
}

// batch picks the smallest files, as many as can be fetched and read side by side: two are
// read side by side however many rows they have. It is one file if no other can be fetched
// with it.
func (r *runner) batch(files []parquet.File, in room) []parquet.File {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b parquet.File) int { return cmp.Compare(a.Rows, b.Rows) })
	n := min(1, len(sorted))
	for n < len(sorted) && (n < 2 || r.fits(sorted[:n+1], in) && !in.full(sorted[:n])) && r.fetchable(sorted[:n+1]) {
		n++
	}
	return sorted[:n]
}

// asFewAsNeeded are the smallest of those that are to be merged, so many that all files can
// be read side by side afterwards.
func (r *runner) asFewAsNeeded(files, some []parquet.File) []parquet.File {
	others := filter(files, func(f parquet.File) bool { return !slices.Contains(some, f) })
	for n := 2; n < len(some); n++ {
		merged := parquet.File{Rows: rowsOf(some[:n])}
		for _, f := range some[:n] {
			merged.GroupBytes = max(merged.GroupBytes, f.GroupBytes*resident(merged)/max(1, resident(f)))
		}
		if r.fits(slices.Concat(others, some[n:], []parquet.File{merged}), wholeRows) {
			return some[:n]
		}
	}
	return some
}

// ids are the columns that lead from a row to one request.
var ids = []string{"trace_id", "span_id", "parent_span_id", "request_id"}

// output describes a file of the rows of files of one level.
func output(files []parquet.File, noIDs bool) table.Output {
	out := table.Output{Kind: table.KindMerge, Level: files[0].Level, NoIDs: noIDs}
	if out.Level != methodspan.LevelRaw {
		out.Kind = table.KindRoll
	}
	return out
}

func rowsOf(files []parquet.File) (n int64) {
	for _, f := range files {
		n += f.Rows
	}
	return n
}

func sizeOf(files []parquet.File) (n int64) {
	for _, f := range files {
		n += f.Bytes
	}
	return n
}

// bytesOf is what a date takes on the disk.
func bytesOf(d *table.Date) int64 {
	if d.Sums != nil {
		return sizeOf(d.Files) + d.Sums.Bytes
	}
	return sizeOf(d.Files)
}

func haveNoIDs(files []parquet.File) bool {
	return !slices.ContainsFunc(files, func(f parquet.File) bool { return !f.NoIDs })
}
