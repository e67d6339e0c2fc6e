package query

import (
	"context"
	"database/sql"
	"time"
)

// MethodDay contains the sums over the measured calls of one method from one caller on one UTC date.
type MethodDay struct {
	Service
	Full   string // class.method
	Caller string // empty = unknown
	Date   time.Time

	Class, Method, Signature string

	Records float64 // measured calls
	Weight  float64 // calls they stand for
	Capped  float64 // ns, each call capped at the 99.5% quantile over all dates
	Log     float64
}

// Days calls each for the days of all methods, one service after another. The MethodDay is valid during the
// call only.
func (w *Warehouse) Days(ctx context.Context, metric Metric, window Window, f Filter, each func(*MethodDay) error) error {
	var d MethodDay
	dialect, err := w.weightsDialect(ctx)
	if err != nil {
		return err
	}
	s := scope{dialect: dialect, metricColumns: columnsOf[metric], Filter: f}
	return w.queryRows(ctx, "days", s, filterArgs(window, f), func(rows *sql.Rows) error {
		d = MethodDay{}
		var date int64
		err := rows.Scan(nullable(&d.Namespace), nullable(&d.Name), nullable(&d.Environment), nullable(&d.Full), &d.Caller, &date,
			nullable(&d.Class), nullable(&d.Method), nullable(&d.Signature), &d.Records, &d.Weight, &d.Capped, &d.Log)
		if err != nil {
			return err
		}
		d.Date, d.Records = timeOf(date), countedShare(d.Records, d.Weight)*d.Records
		return each(&d)
	})
}
