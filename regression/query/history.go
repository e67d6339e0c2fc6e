package query

import (
	"context"
	"database/sql"
	"math"
	"time"
)

// MethodName names a method of a service.
type MethodName struct {
	Service
	Class  string `json:"class"`
	Method string `json:"method"`
}

// Point contains the figures of one method in one version and one time bucket.
type Point struct {
	MethodName
	Version string
	At      time.Time
	Calls   float64
	Sums    // Records, Clusters, N, X, NN, NX and XX
}

// Share is the number of a method's calls whose duration is in one bin.
type Share struct {
	MethodName
	Version string
	Bin     int64   // see BinStart
	N       float64 // calls, estimated
}

// BinStart returns the shortest duration of a Share's bin in ns. A bin is a quarter of an octave wide.
func BinStart(bin int64) float64 { return math.Exp2(float64(bin) / 4) }

// History returns the figures of the chosen methods over time, by time bucket.
func (w *Warehouse) History(ctx context.Context, a ProfileQuery, bucket time.Duration, chosen []MethodName) ([]Point, error) {
	if err := w.fillChosen(ctx, chosen); err != nil {
		return nil, err
	}
	args := filterArgs(a.Window, a.Filter)
	args["bucket_ns"], args["slot_ns"] = bucket.Nanoseconds(), a.TimeBucket.Nanoseconds()
	s := a.scope()
	windows, timeBuckets := a.pieces()
	var err error
	if s.dialect, err = w.hourly(ctx, windows, append(timeBuckets, bucket)...); err != nil {
		return nil, err
	}
	var out []Point
	err = w.queryRows(ctx, "history", s, args, func(rows *sql.Rows) error {
		var p Point
		var at64 int64
		err := rows.Scan(nullable(&p.Namespace), nullable(&p.Name), nullable(&p.Environment), nullable(&p.Version), nullable(&p.Class), nullable(&p.Method), &at64,
			nullable(&p.Calls), nullable(&p.Records), &p.Clusters, &p.N, &p.X, &p.NN, &p.NX, &p.XX)
		p.At, p.Records = timeOf(at64), atMostCounted(p.Records, p.Calls)
		out = append(out, p)
		return err
	})
	return out, err
}

// Distribution returns the distribution of the durations of single calls of the chosen methods.
func (w *Warehouse) Distribution(ctx context.Context, a ProfileQuery, chosen []MethodName) ([]Share, error) {
	if err := w.fillChosen(ctx, chosen); err != nil {
		return nil, err
	}
	scope := a.scope()
	var err error
	if scope.dialect, err = w.weightsDialect(ctx); err != nil {
		return nil, err
	}
	var out []Share
	err = w.queryRows(ctx, "distribution", scope, filterArgs(a.Window, a.Filter), func(rows *sql.Rows) error {
		var s Share
		err := rows.Scan(nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment), nullable(&s.Version), nullable(&s.Class), nullable(&s.Method), &s.Bin, &s.N)
		out = append(out, s)
		return err
	})
	return out, err
}

// fillChosen fills the table of the methods that statements read.
func (w *Warehouse) fillChosen(ctx context.Context, chosen []MethodName) error {
	g := smallTable{columns: textColumns("service_namespace", "service", "environment", "class", "method")}
	for _, c := range chosen {
		g.rows = append(g.rows, []any{orNull(c.Namespace), orNull(c.Name), orNull(c.Environment), orNull(c.Class), orNull(c.Method)})
	}
	return w.fillTable(ctx, "chosen", g)
}
