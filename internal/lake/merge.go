package lake

import (
	"cmp"
	"context"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// resident is how many rows of a file are in memory while it is read.
func resident(f parquet.File) int64 { return min(f.Rows, rowGroupRows) }

// fits tells whether files can be read side by side.
func fits(files []parquet.File) bool {
	var rows int64
	for _, f := range files {
		rows += resident(f)
	}
	return len(files) <= maxOpenFiles && rows <= maxResidentRows
}

// batch picks the smallest files, as many as can be read side by side and two at
// least.
func batch(files []parquet.File) []parquet.File {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b parquet.File) int { return cmp.Compare(a.Rows, b.Rows) })
	n := min(2, len(sorted))
	for n < len(sorted) && fits(sorted[:n+1]) {
		n++
	}
	return sorted[:n]
}

// rewrite puts the rows of files of one level into one file. It adds no rows:
// each keeps its place in its queue item, by which a repeat is told.
func rewrite(ctx context.Context, m *parquet.Maintainer, date string, files []parquet.File, o parquet.RunOptions, change func(*methodspan.Row)) (parquet.File, error) {
	out := parquet.Output{Kind: parquet.KindMerge, Level: files[0].Level, NoIDs: change != nil}
	if out.Level != methodspan.LevelRaw {
		out.Kind = parquet.KindRoll
	}
	if change == nil {
		out.NoIDs = !slices.ContainsFunc(files, func(f parquet.File) bool { return !f.NoIDs })
	}
	return m.Replace(ctx, date, files, out, func(add func(*methodspan.Row) error) error {
		run, err := parquet.OpenRun(ctx, files, o)
		if err != nil {
			return err
		}
		defer run.Close()
		for {
			row, err := run.Next()
			if row == nil || err != nil {
				return err
			}
			if change != nil {
				change(row)
			}
			if err := add(row); err != nil {
				return err
			}
		}
	})
}

// forgetIDs leaves out what leads from a row to one request.
func forgetIDs(r *methodspan.Row) {
	r.TraceID, r.SpanID, r.ParentSpanID, r.RequestID = [16]byte{}, [8]byte{}, [8]byte{}, ""
}
