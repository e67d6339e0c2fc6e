package query

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Service names a service in one environment. Empty parts are unknown.
type Service struct {
	Namespace   string `json:"service_namespace"`
	Name        string `json:"service"`
	Environment string `json:"environment"`
}

// String returns `namespace/service (environment)`, for messages.
func (s Service) String() string {
	name := s.Name
	if name == "" {
		name = "unknown service"
	}
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	if s.Environment != "" {
		name += " (" + s.Environment + ")"
	}
	return name
}

// nullableScanner scans a column that can be NULL; NULL becomes the zero value.
type nullableScanner[T any] struct{ into *T }

func (o nullableScanner[T]) Scan(v any) error {
	var n sql.Null[T]
	err := n.Scan(v)
	*o.into = n.V
	return err
}

func nullable[T any](v *T) sql.Scanner { return nullableScanner[T]{v} }

// Run is a period in which a version was active without a gap.
type Run struct {
	Service
	Version          string // empty = unknown
	Revision         string
	First, Last      time.Time // start of the first row, end of the last row
	Until            time.Time // the end of the last unit with a row
	OldestProcess    time.Time // start of the oldest process seen in it; zero = unknown
	UnknownProcesses bool      // some rows lack the start of their process
	Measured         int64     // records
	CPUMeasured      int64     // part of Measured with CPU time
	Assumed          int64     // part of Measured with an unknown sampling probability
	ListPrice        bool      // some prices are public list prices
	Unit             time.Duration
}

// Runs returns the runs of all versions, by time. A version that was inactive for more than two minutes
// starts a new run.
func (w *Warehouse) Runs(ctx context.Context, window Window, f Filter) ([]Run, error) {
	return w.RunsBy(ctx, time.Minute, window, f)
}

// RunsBy returns runs by a unit of time other than the minute. Where everything happens within
// minutes, a deployment ends in seconds.
func (w *Warehouse) RunsBy(ctx context.Context, unit time.Duration, window Window, f Filter) ([]Run, error) {
	var runs []Run
	var calls float64
	args := filterArgs(window, f)
	args["unit_ns"] = unit.Nanoseconds()
	err := w.queryRows(ctx, "runs", scope{Filter: f}, args, func(rows *sql.Rows) error {
		r := Run{Unit: unit}
		var first, last, until, oldest, unknown, listed int64
		err := rows.Scan(nullable(&r.Namespace), nullable(&r.Name), nullable(&r.Environment), nullable(&r.Version),
			nullable(&first), nullable(&last), nullable(&until), nullable(&oldest), nullable(&unknown),
			nullable(&r.Measured), nullable(&r.CPUMeasured), nullable(&r.Assumed), nullable(&listed), nullable(&r.Revision), nullable(&calls))
		for _, measured := range []*int64{&r.Measured, &r.CPUMeasured, &r.Assumed} {
			*measured = atMostCounted(*measured, calls)
		}
		r.First, r.Last, r.Until = timeOf(first), timeOf(last), timeOf(until)
		if oldest != 0 {
			r.OldestProcess = timeOf(oldest)
		}
		r.UnknownProcesses, r.ListPrice = unknown > 0, listed > 0
		runs = append(runs, r)
		return err
	})
	return runs, err
}

func timeOf(ns int64) time.Time { return time.Unix(0, ns).UTC() }

func filterArgs(window Window, f Filter) map[string]any {
	from, to := window.nanos()
	args := map[string]any{"from_ns": from, "to_ns": to}
	if f.Namespace != "" {
		args["service_namespace"] = f.Namespace
	}
	if f.Service != "" {
		args["service"] = f.Service
	}
	if f.Environment != "" {
		args["environment"] = f.Environment
	}
	return args
}

// nanos returns the window in ns; an open side is the most distant possible time.
func (w Window) nanos() (from, to int64) {
	from, to = 0, 1<<63-1
	if !w.From.IsZero() {
		from = nanos(w.From)
	}
	if !w.To.IsZero() {
		to = nanos(w.To)
	}
	return from, to
}

// The earliest and the latest time of a row, which contains nanoseconds since 1970.
var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

// within returns the time nearest to t that a row can have. Flags can contain any time.
func within(t time.Time) time.Time {
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}

func nanos(t time.Time) int64 { return within(t).UnixNano() }

func dateOf(t time.Time) string { return within(t).UTC().Format(time.DateOnly) }

// dates returns the first and the last UTC date that the window touches; an open side is "".
func (w Window) dates() (first, last string) {
	if !w.From.IsZero() {
		first = dateOf(w.From)
	}
	if !w.To.IsZero() {
		last = dateOf(w.To.Add(-1))
	}
	return first, last
}

// FullName returns the full name of a method, with its signature.
func FullName(class, method, signature string) string {
	return methodspan.Function{Class: class, Method: method}.Full() + signature
}
