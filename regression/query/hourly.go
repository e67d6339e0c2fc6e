package query

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// hourly has statements read sums by hour in the place of rows, for dates whose sums
// maintenance keeps beside them: they are a small part of the rows and say the same about
// whole hours. A statement may if its slots are of whole hours. Dates with an hour that
// one of its windows or that of the warehouse cuts are read row by row, and so is what came
// after the sums were made.
func (w *Warehouse) hourly(ctx context.Context, windows []Window, slots ...time.Duration) (dialect, error) {
	if slices.ContainsFunc(slots, func(d time.Duration) bool { return d < time.Hour || d%time.Hour != 0 }) {
		return w.dialect, nil
	}
	var files []parquet.File
	covered := map[string]bool{}
	for _, s := range w.sums {
		if w.Window.cuts(s.Date) || slices.ContainsFunc(windows, func(window Window) bool { return window.cuts(s.Date) }) {
			continue
		}
		files = append(files, s.File)
		for _, path := range s.Of {
			covered[path] = true
		}
	}
	if len(files) == 0 {
		return w.dialect, nil
	}
	for _, f := range w.Files {
		if !covered[f.Path] {
			files = append(files, f)
		}
	}
	views, err := viewsOf("hourly", files)
	if err != nil {
		return w.dialect, err
	}
	if !slices.Equal(views, w.views) {
		for _, view := range views {
			if _, err := w.db.ExecContext(ctx, view); err != nil {
				return w.dialect, err
			}
		}
		w.views = views
	}
	d := w.dialect
	d.Hourly, d.Minutes = true, hasMinutes(files)
	return d, nil
}

// cuts tells whether the window ends within an hour of a UTC date.
func (w Window) cuts(date string) bool {
	for _, end := range []time.Time{w.From, w.To} {
		if !end.IsZero() && dateOf(end) == date && nanos(end)%int64(time.Hour) != 0 {
			return true
		}
	}
	return false
}

func hasMinutes(files []parquet.File) bool {
	return slices.ContainsFunc(files, func(f parquet.File) bool { return f.Level == methodspan.LevelMinute })
}

// usableSums are those of the dates of a window. Rows say all that they say, so one that is not
// as it was committed is left out, and told by Verify.
func usableSums(s *parquet.Snapshot, window Window) []parquet.Sums {
	return slices.DeleteFunc(slices.Clone(s.Sums), func(sums parquet.Sums) bool {
		return !window.touches(sums.Date) || sums.VerifySize() != nil
	})
}

// viewsOf are statements that define the views <prefix>_rows, with the number of the
// collector whose a row is, and <prefix>_calls, without.
func viewsOf(prefix string, files []parquet.File) ([]string, error) {
	paths, err := quotedPaths(files)
	if err != nil {
		return nil, err
	}
	numbers := map[string]int{}
	parts := make([]string, len(files))
	for i, f := range files {
		if numbers[f.Prefix] == 0 {
			numbers[f.Prefix] = len(numbers) + 1
		}
		parts[i] = strconv.Itoa(numbers[f.Prefix])
	}
	return []string{
		"CREATE OR REPLACE VIEW " + prefix + "_rows AS SELECT " + columns.Full + ", CAST([" + strings.Join(parts, ", ") + "][CAST(file_index AS BIGINT) + 1] AS BIGINT) AS part FROM " + readFiles(paths),
		"CREATE OR REPLACE VIEW " + prefix + "_calls AS SELECT * EXCLUDE (part) FROM " + prefix + "_rows",
	}, nil
}

func readFiles(paths []string, options ...string) string {
	return "read_parquet(" + strings.Join(append([]string{listOf(paths), "union_by_name = true", "hive_partitioning = false"}, options...), ", ") + ")"
}

func listOf(texts []string) string { return "[" + strings.Join(texts, ", ") + "]" }

// quotedPaths are the only texts in statements that are neither ours nor parameters: views
// take none.
func quotedPaths(files []parquet.File) ([]string, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		paths[i] = quoteText(path)
	}
	return paths, nil
}
