package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// verify compares the files, and on request their rollups, with their checksums before they are used. The error
// names all damaged files. Files of a bucket were verified when they were downloaded.
func (w *Warehouse) verify(ctx context.Context, sums bool) error {
	err := w.verified.Verify(ctx, w.Files)
	if sums && w.cache == nil && ctx.Err() == nil {
		_, serr := w.intactRollups(ctx, sumsOf(w.Snapshot, w.Window))
		err = errors.Join(err, serr)
	}
	return err
}

// intactRollups returns the rollups that are unchanged since their commit; the error names the others.
func (w *Warehouse) intactRollups(ctx context.Context, sums []table.Sums) (here []table.Sums, err error) {
	files := make([]parquet.File, len(sums))
	for i := range sums {
		files[i] = sums[i].File
	}
	err = w.verified.Verify(ctx, files)
	for i := range sums {
		if files[i].Verified {
			here = append(here, sums[i])
		}
	}
	return here, err
}

// Verify compares every file with the checksum in its commit, including the rollups, which it downloads from a
// bucket. The error names all damaged files.
func (w *Warehouse) Verify(ctx context.Context) error {
	if w.remote != nil {
		return errors.New("--deep compares files with their checksums, and a warehouse in BigQuery has no files: leave it out")
	}
	err := w.verify(ctx, true)
	if w.cache != nil && ctx.Err() == nil {
		_, serr := w.cache.Bring(ctx, sumsOf(w.Snapshot, w.Window), w.notices)
		err = errors.Join(err, serr)
	}
	return err
}

// explainDamage adds the names of damaged files to the error of a statement that failed because of them. The engine
// does not name the file, or not its damage. Files can have changed since they were verified.
func (w *Warehouse) explainDamage(ctx context.Context, err error) error {
	if err == nil || w.remote != nil || ctx.Err() != nil {
		return err
	}
	var damaged []error
	for i := range w.Files {
		if verr := w.Files[i].Verify(ctx); errors.Is(verr, warehouse.ErrCorrupt) {
			damaged = append(damaged, verr)
		}
	}
	for i := range w.hours {
		if verr := w.hours[i].Verify(ctx); w.hours[i].Kind == table.KindPreaggregated && errors.Is(verr, warehouse.ErrCorrupt) {
			damaged = append(damaged, verr)
		}
	}
	if len(damaged) == 0 || ctx.Err() != nil {
		return err
	}
	return errors.Join(append(damaged, fmt.Errorf("the engine reports: %w", err))...)
}
