package query

import (
	"context"
	"errors"
	"slices"
)

// Verify compares every file with what its commit said of it and names all that
// are damaged.
func (w *Warehouse) Verify(ctx context.Context) error {
	if w.remote != nil {
		return errors.New("--deep compares files with their checksums, and a warehouse in BigQuery has no files: leave it out")
	}
	files, sums := slices.Clone(w.Files), sumsOf(w.Snapshot, w.Window)
	var errs []error
	if w.cache != nil {
		var err error
		if sums, err = w.cache.Bring(ctx, sums, w.notices); ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	for _, s := range sums {
		files = append(files, s.File)
	}
	for i := range files {
		if err := files[i].Verify(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
