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
	files := slices.Clone(w.Files)
	for _, s := range w.Snapshot.Sums {
		if w.Window.touches(s.Date) {
			files = append(files, s.File)
		}
	}
	var errs []error
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
