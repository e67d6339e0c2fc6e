package maintain

import (
	"context"
	"errors"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// DropDamaged removes files that differ from the committed ones. Their rows are lost; the other rows of the
// date can be read again. Removed rollups are made again when they are due.
func (j *Job) DropDamaged(ctx context.Context) (*Result, error) {
	return j.withDates(ctx, func(r *runner, d *table.Date) error { return r.dropDamaged(ctx, d) })
}

func (r *runner) dropDamaged(ctx context.Context, d *table.Date) error {
	var damaged []parquet.File
	for _, f := range d.Files {
		is, err := r.damaged(ctx, f)
		if err != nil {
			return err
		}
		if is {
			damaged = append(damaged, f)
		}
	}
	if len(damaged) > 0 {
		if !r.DryRun {
			nothing := func(func(*methodspan.Row) error) error { return nil }
			if _, err := r.m.Replace(ctx, d.Date, damaged, table.Output{Kind: table.KindMerge}, nothing); err != nil {
				return err
			}
		}
		r.done(newStep(Damaged, d.Date, damaged))
		return nil // Replace also removed a rollup of one of the files
	}
	if d.Sums == nil || d.Sums.Rows == 0 {
		return nil
	}
	is, err := r.damaged(ctx, d.Sums.File)
	if err == nil && is {
		_, err = r.dropSums([]table.Date{*d})
	}
	return err
}

// damaged reports whether a file is missing or differs from the committed one, on disk or in the bucket.
func (r *runner) damaged(ctx context.Context, f parquet.File) (bool, error) {
	_, err := r.fetched(ctx, f, func(f parquet.File) (bool, error) { return false, f.Verify(ctx) })
	if errors.Is(err, warehouse.ErrCorrupt) {
		return true, nil
	}
	return false, err
}
