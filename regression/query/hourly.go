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

// hourly has statements read sums by hour in the place of rows, for dates whose sums
// maintenance keeps next to them: they are a small part of the rows and say the same about
// whole hours. A statement may if its buckets are of whole hours. Dates with an hour that
// one of its windows or that of the warehouse cuts are read row by row, and so is what came
// after the sums were made.
func (w *Warehouse) hourly(ctx context.Context, windows []Window, timeBuckets ...time.Duration) (dialect, error) {
	d, err := w.weighing(ctx)
	if err != nil || slices.ContainsFunc(timeBuckets, func(d time.Duration) bool { return d < time.Hour || d%time.Hour != 0 }) {
		return d, err
	}
	whole := slices.DeleteFunc(slices.Clone(w.sums), func(s table.Sums) bool {
		return w.Window.cuts(s.Date) || slices.ContainsFunc(windows, func(window Window) bool { return window.cuts(s.Date) })
	})
	sums, err := w.bring(ctx, whole)
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

// defineHours defines the views of rows and of sums in their place.
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

// cuts reports whether the window ends within an hour of a UTC date.
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

// sumsOf selects by whole UTC dates.
func sumsOf(s *table.Snapshot, window Window) []table.Sums {
	return slices.DeleteFunc(slices.Clone(s.Sums), func(sums table.Sums) bool { return !window.touches(sums.Date) })
}

// bring has sums where they can be read and lists them. Rows say all that they say, so those
// that are gone or damaged are left out from then on.
func (w *Warehouse) bring(ctx context.Context, sums []table.Sums) (here []table.Sums, err error) {
	if w.cache != nil {
		here, err = w.cache.Bring(ctx, sums, w.notices)
	} else {
		here, err = w.sound(ctx, sums)
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
