package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// hourly returns the dialect in which statements read hourly rollups instead of rows. It uses the rollups that
// maintenance keeps next to the rows of a date: they are a small part of the rows' size and have the same
// contents for whole hours. It applies if all time buckets are whole hours. Dates with an hour that one of the
// windows, or the window of the warehouse, cuts through are read row by row. So are rows that arrived after the
// rollup was made.
func (w *Warehouse) hourly(ctx context.Context, windows []Window, timeBuckets ...time.Duration) (dialect, error) {
	d, err := w.weightsDialect(ctx)
	if err != nil || slices.ContainsFunc(timeBuckets, func(d time.Duration) bool { return d < time.Hour || d%time.Hour != 0 }) {
		return d, err
	}
	whole := slices.DeleteFunc(slices.Clone(w.sums), func(s table.Sums) bool {
		return w.Window.cuts(s.Date) || slices.ContainsFunc(windows, func(window Window) bool { return window.cuts(s.Date) })
	})
	sums, err := w.fetchRollups(ctx, whole)
	if err != nil {
		return d, err
	}
	var files []parquet.File
	covered := map[string]bool{}
	for _, s := range sums {
		files = append(files, s.File)
		for _, path := range s.Of {
			covered[path] = true
		}
	}
	if len(files) == 0 {
		return d, nil
	}
	for _, f := range w.Files {
		if !covered[f.Path] {
			files = append(files, f)
		}
	}
	if !slices.EqualFunc(files, w.hours, func(a, b parquet.File) bool { return a.Path == b.Path }) {
		if err := w.defineHours(ctx, files); err != nil {
			return d, err
		}
	}
	d.Hourly, d.Finer = true, hasFiner(files)
	return d, nil
}

// defineHours defines the views of rollups and of the rows that have no rollup.
func (w *Warehouse) defineHours(ctx context.Context, files []parquet.File) error {
	w.hours = nil
	bounds, err := boundsOf(ctx, w.db, files, w.bounds.now)
	if err != nil {
		return err
	}
	views, err := viewsOf("hourly", files, bounds)
	if err != nil {
		return err
	}
	for _, view := range views {
		if _, err := w.db.ExecContext(ctx, view); err != nil {
			return err
		}
	}
	w.hours = files
	return nil
}

// cuts reports whether the window starts or ends within an hour of a UTC date.
func (w Window) cuts(date string) bool {
	for _, end := range []time.Time{w.From, w.To} {
		if !end.IsZero() && dateOf(end) == date && nanos(end)%int64(time.Hour) != 0 {
			return true
		}
	}
	return false
}

func hasFiner(files []parquet.File) bool {
	return slices.ContainsFunc(files, func(f parquet.File) bool { return f.Level != methodspan.LevelHour })
}

// sumsOf selects rollups by whole UTC dates.
func sumsOf(s *table.Snapshot, window Window) []table.Sums {
	return slices.DeleteFunc(slices.Clone(s.Sums), func(sums table.Sums) bool { return !window.touches(sums.Date) })
}

// fetchRollups makes rollups available locally and returns those that can be read. Rows contain the same data, so
// missing or damaged rollups are left out from then on.
func (w *Warehouse) fetchRollups(ctx context.Context, sums []table.Sums) (here []table.Sums, err error) {
	if w.cache != nil {
		here, err = w.cache.Bring(ctx, sums, w.notices)
	} else {
		here, err = w.intactRollups(ctx, sums)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		fmt.Fprintf(w.notices, "rows are read where their rollups are not available: %v\n", err)
	}
	if len(here) < len(sums) {
		w.sums = slices.DeleteFunc(slices.Clone(w.sums), func(s table.Sums) bool {
			same := func(o table.Sums) bool { return o.Path == s.Path }
			return slices.ContainsFunc(sums, same) && !slices.ContainsFunc(here, same)
		})
	}
	return here, nil
}
