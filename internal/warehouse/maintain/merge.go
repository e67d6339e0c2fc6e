package maintain

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// resident returns the number of rows of a file that are in memory while it is read.
func resident(f parquet.File) int64 { return min(f.Rows, rowGroupRows) }

// room is the memory available for each of Job.RowsInMemory rows: a number of rows, and bytes of row groups
// before compression. The bytes limit large rows, such as rows with histograms.
type room struct {
	rows, bytes int64
	enough      int64 // number of rows from which a file is large enough, 0 for no limit
}

// Files are merged all day long, one column in memory at a time. As many small files are merged at once as
// make a large one, because otherwise rows would be written again each time their file doubles in size. A
// date is rolled up once, row by row. Files that do not fit in memory then must be merged first, in
// several passes.
var (
	merging   = room{4, 256, smallRows}
	stripping = room{1, 256, 0}
	preparing = room{4, 1024, 0}
	wholeRows = room{2, 256, 0}
)

// fits reports whether files can be read concurrently.
func (r *runner) fits(files []parquet.File, in room) bool {
	var rows, bytes int64
	for _, f := range files {
		rows += resident(f)
		bytes += f.GroupBytes
	}
	n := cmp.Or(r.RowsInMemory, DefaultRowsInMemory)
	return len(files) <= maxOpenFiles && rows <= in.rows*n && bytes <= in.bytes*n
}

// full reports whether files together make a file that is large enough.
func (in room) full(files []parquet.File) bool { return in.enough > 0 && rowsOf(files) >= in.enough }

// fetchable reports whether files can be fetched at once.
func (r *runner) fetchable(files []parquet.File) bool {
	return r.FetchBytes == 0 || sizeOf(files) <= r.FetchBytes
}

// batch selects the smallest files, as many as can be fetched and read concurrently. Two files can always
// be read concurrently, however many rows they have. It returns one file if no other can be fetched with it.
func (r *runner) batch(files []parquet.File, in room) []parquet.File {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b parquet.File) int { return cmp.Compare(a.Rows, b.Rows) })
	n := min(1, len(sorted))
	for n < len(sorted) && (n < 2 || r.fits(sorted[:n+1], in) && !in.full(sorted[:n])) && r.fetchable(sorted[:n+1]) {
		n++
	}
	return sorted[:n]
}

// asFewAsNeeded returns the smallest files of some, only as many as must be merged so that all files can be
// read concurrently afterwards.
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

// ids are the columns that identify a single request.
var ids = []string{"trace_id", "span_id", "parent_span_id", "request_id"}

// output describes a merged file of files of one level.
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

// bytesOf returns the size of a date on disk.
func bytesOf(d *table.Date) int64 {
	if d.Sums != nil {
		return sizeOf(d.Files) + d.Sums.Bytes
	}
	return sizeOf(d.Files)
}

func haveNoIDs(files []parquet.File) bool {
	return !slices.ContainsFunc(files, func(f parquet.File) bool { return !f.NoIDs })
}
