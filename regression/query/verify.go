package query

import (
	"context"
	"errors"
)

// Verify compares every file with what its commit said of it and names all that
// are damaged.
func (w *Warehouse) Verify(ctx context.Context) error {
	if w.remote != nil {
		return errors.New("--deep compares files with their checksums, and a warehouse in BigQuery has no files: leave it out")
	}
	var errs []error
	for i := range w.Files {
		if err := w.Files[i].Verify(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
