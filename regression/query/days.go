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
	dialect, err := w.weighing(ctx)
	if err != nil {
		return err
	}
	s := scope{dialect: dialect, metricColumns: columnsOf[metric], Filter: f}
	return w.each(ctx, "days", s, filterArgs(window, f), func(rows *sql.Rows) error {
		d = MethodDay{}
		var date int64
		err := rows.Scan(into(&d.Namespace), into(&d.Name), into(&d.Environment), into(&d.Full), &d.Caller, &date,
			into(&d.Class), into(&d.Method), into(&d.Signature), &d.Records, &d.Weight, &d.Capped, &d.Log)
		if err != nil {
			return err
		}
		d.Date, d.Records = at(date), countedShare(d.Records, d.Weight)*d.Records
		return each(&d)
	})
}
