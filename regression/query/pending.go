package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Pending is the measurements of one method of one version whose counts have not arrived:
// they have no weight and are in no figure.
type Pending struct {
	MethodName
	Version     string
	Full        string // class.method
	Measured    int64
	First, Last time.Time // starts
}

// Pending lists it for every method that has some.
func (w *Warehouse) Pending(ctx context.Context, window Window, f Filter) ([]Pending, error) {
	d, err := w.weighing(ctx)
	if err != nil || d.NonePending() {
		return nil, err
	}
	var out []Pending
	err = w.each(ctx, "pending", scope{dialect: d, Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var p Pending
		var first, last int64
		err := rows.Scan(into(&p.Namespace), into(&p.Name), into(&p.Environment), into(&p.Version), into(&p.Class), into(&p.Method),
			&p.Measured, &first, &last)
		p.Full = methodspan.Function{Class: p.Class, Method: p.Method}.Full()
		p.First, p.Last = at(first), at(last)
		out = append(out, p)
		return err
	})
	return out, err
}

// weighing is the dialect of statements that form weights: it says of files what is pending.
func (w *Warehouse) weighing(ctx context.Context) (dialect, error) {
	if w.remote != nil || w.dialect.Asked {
		return w.dialect, nil
	}
	table, err := render("create_uncounted", scope{dialect: w.dialect})
	if err != nil {
		return w.dialect, err
	}
	if _, err := w.db.ExecContext(ctx, table); err != nil {
		return w.dialect, fmt.Errorf("query create_uncounted: %w", err)
	}
	d := w.dialect
	err = w.each(ctx, "uncounted_from", scope{}, nil, func(rows *sql.Rows) error { return rows.Scan(&d.pendingNS) })
	if err == nil {
		d.Asked = true
		w.dialect = d
	}
	return w.dialect, err
}

// Observed is from when to when the rows of a service say what was spent. Counted is the
// end of the last counts; zero if there are none.
type Observed struct {
	Service
	First, Counted time.Time
	Assumed        bool // nothing says how some spans in the window were sampled
	Others         bool // some spans in the window are of other SDKs
}

// knownFor is how far back a service is looked for that began within the window.
const knownFor = 31 * 24 * time.Hour

// Observed lists it for every service. What began within the window has its first row of the month
// before; of a bucket and of BigQuery, which would have to read that, the first on the window's dates.
func (w *Warehouse) Observed(ctx context.Context, window Window, f Filter) ([]Observed, error) {
	all, err := w.observed(ctx, window, f)
	if err != nil || w.cache != nil || w.remote != nil || !slices.ContainsFunc(all, func(o Observed) bool { return o.First.After(window.From) }) {
		return all, err
	}
	before := Window{window.From.Add(-knownFor), window.From}
	older, err := filesOf(w.Snapshot, before)
	if err != nil || !slices.ContainsFunc(older, func(file parquet.File) bool { return time.Unix(0, file.MinStartNS).Before(window.From) }) {
		return all, nil // damage of other dates takes nothing from this one
	}
	longer, done, err := w.since(ctx, before.From)
	switch {
	case errors.Is(err, warehouse.ErrCorrupt):
		return all, nil
	case err != nil:
		return nil, err
	}
	earlier, err := longer.observed(ctx, before, f)
	if err = errors.Join(err, done()); err != nil {
		return nil, err
	}
	first := map[Service]time.Time{}
	for _, o := range earlier {
		first[o.Service] = o.First
	}
	for i, o := range all {
		if began, ok := first[o.Service]; ok && began.Before(o.First) {
			all[i].First = began
		}
	}
	return all, nil
}

func (w *Warehouse) observed(ctx context.Context, window Window, f Filter) ([]Observed, error) {
	var out []Observed
	err := w.each(ctx, "observed", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var o Observed
		var first, counted, assumed, others int64
		err := rows.Scan(into(&o.Namespace), into(&o.Name), into(&o.Environment), &first, into(&counted), into(&assumed), into(&others))
		o.First, o.Assumed, o.Others = at(first), assumed > 0, others > 0
		if counted != 0 {
			o.Counted = at(counted)
		}
		out = append(out, o)
		return err
	})
	return out, err
}
