package query

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Pending contains the measurements of one method in one version whose counts have not arrived. They have no
// weight and are in no figure.
type Pending struct {
	MethodName
	Version     string
	Full        string // class.method
	Measured    int64
	First, Last time.Time // starts
}

// Pending returns every method with pending measurements.
func (w *Warehouse) Pending(ctx context.Context, window Window, f Filter) ([]Pending, error) {
	d, err := w.weightsDialect(ctx)
	if err != nil || d.NonePending() {
		return nil, err
	}
	var out []Pending
	err = w.queryRows(ctx, "pending", scope{dialect: d, Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var p Pending
		var first, last int64
		err := rows.Scan(nullable(&p.Namespace), nullable(&p.Name), nullable(&p.Environment), nullable(&p.Version), nullable(&p.Class), nullable(&p.Method),
			&p.Measured, &first, &last)
		p.Full = methodspan.Function{Class: p.Class, Method: p.Method}.Full()
		p.First, p.Last = timeOf(first), timeOf(last)
		out = append(out, p)
		return err
	})
	return out, err
}

// weightsDialect returns the dialect of statements that compute weights. For files it includes the pending measurements.
func (w *Warehouse) weightsDialect(ctx context.Context) (dialect, error) {
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
	err = w.queryRows(ctx, "uncounted_from", scope{}, nil, func(rows *sql.Rows) error { return rows.Scan(&d.pendingNS) })
	if err == nil {
		d.Asked = true
		w.dialect = d
	}
	return w.dialect, err
}
