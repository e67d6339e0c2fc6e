package query

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Observed is from when to when the rows of a service say what was spent. Counted is the
// end of the last counts; zero if there are none.
type Observed struct{ Began, Counted time.Time }

// knownFor is how far back a service is looked for that began within the window.
const knownFor = 31 * 24 * time.Hour

// lookBack finds when services began that seem to have done so within the window: with their first row
// of the month before. Of a bucket and of BigQuery, which would have to read that, it is the first
// on the window's dates.
func (w *Warehouse) lookBack(ctx context.Context, window Window, f Filter, bills []Bill) error {
	if w.cache != nil || w.remote != nil || !slices.ContainsFunc(bills, func(b Bill) bool { return b.Began.After(window.From) }) {
		return nil
	}
	before := Window{window.From.Add(-knownFor), window.From}
	older, err := filesOf(w.Snapshot, before)
	if err != nil || !slices.ContainsFunc(older, func(file parquet.File) bool { return time.Unix(0, file.MinStartNS).Before(window.From) }) {
		return nil // damage of other dates takes nothing from this one
	}
	longer, done, err := w.since(ctx, before.From)
	switch {
	case errors.Is(err, warehouse.ErrCorrupt):
		return nil
	case err != nil:
		return err
	}
	began := map[Service]time.Time{}
	err = longer.each(ctx, "began", scope{Filter: f}, filterArgs(before, f), func(rows *sql.Rows) error {
		var s Service
		var ns int64
		err := rows.Scan(into(&s.Namespace), into(&s.Name), into(&s.Environment), &ns)
		began[s] = at(ns)
		return err
	})
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	for i := range bills {
		if first, ok := began[bills[i].Service]; ok && first.Before(bills[i].Began) {
			bills[i].Began = first
		}
	}
	return nil
}
