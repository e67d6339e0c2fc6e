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

// Observed is the time covered by the rows of a service about its cost. Counted is the
// end of the last counts, or zero if there are none.
type Observed struct{ Began, Counted time.Time }

// knownFor is how far before the window earlier rows of a service are searched.
const knownFor = 31 * 24 * time.Hour

// lookBack corrects the start of services that seem to begin within the window: if they have rows in the month
// before, they began with the first of those. In a bucket or BigQuery, which would have to read these rows, the start
// remains the first row on the dates of the window.
func (w *Warehouse) lookBack(ctx context.Context, window Window, f Filter, bills []Bill) error {
	if w.cache != nil || w.remote != nil || !slices.ContainsFunc(bills, func(b Bill) bool { return b.Began.After(window.From) }) {
		return nil
	}
	before := Window{window.From.Add(-knownFor), window.From}
	older, err := filesOf(w.Snapshot, before)
	if err != nil || !slices.ContainsFunc(older, func(file parquet.File) bool { return time.Unix(0, file.MinStartNS).Before(window.From) }) {
		return nil // damaged files of other dates do not affect this window
	}
	longer, done, err := w.extendTo(ctx, before.From)
	switch {
	case errors.Is(err, warehouse.ErrCorrupt):
		return nil
	case err != nil:
		return err
	}
	began := map[Service]time.Time{}
	err = longer.queryRows(ctx, "began", scope{Filter: f}, filterArgs(before, f), func(rows *sql.Rows) error {
		var s Service
		var ns int64
		err := rows.Scan(nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment), &ns)
		began[s] = timeOf(ns)
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
