package query

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Account contains the emitted and the stored calls of one process that uses our SDK.
type Account struct {
	Service
	Version      string
	Instance     string
	ProcessStart time.Time // zero = unknown

	First, Last time.Time
	Beats       int64         // process rows
	Interval    time.Duration // the longest interval between two process rows
	// FirstTotal and LastTotal are the emitted calls in the first and the last process row.
	FirstTotal, LastTotal int64
	Counted               float64 // calls in counts rows
	CountedLater          float64 // part of Counted after the first process row
	CountedAfter          float64 // part of Counted after the last process row
	Final                 bool
	Stats                 map[string]float64 // the SDK's own counters, as of the last process row
}

// RolledUpTo returns the last date with rollup rows, which do not separate processes, or "" if there is none.
func (w *Warehouse) RolledUpTo() string {
	for i := len(w.Files) - 1; i >= 0; i-- {
		if w.Files[i].Level != methodspan.LevelRaw {
			return w.Files[i].Date
		}
	}
	return ""
}

// RawFrom returns the first date from which all dates contain raw rows only. It returns false if there is none.
func (w *Warehouse) RawFrom() (date string, ok bool) {
	rolled := w.RolledUpTo()
	for _, f := range w.Files {
		if f.Date > rolled {
			return f.Date, true
		}
	}
	return "", false
}

// processArgs returns the parameters of statements about processes. It returns false if all dates are rolled up.
func (w *Warehouse) processArgs(window Window, f Filter) (args map[string]any, ok bool, err error) {
	from, ok := w.RawFrom()
	if !ok {
		return nil, false, nil
	}
	day, err := time.Parse(time.DateOnly, from)
	if err != nil {
		return nil, false, err
	}
	args = filterArgs(window, f)
	args["raw_from_ns"], args["read_to_ns"] = nanos(day), int64(math.MaxInt64)
	if !w.Window.To.IsZero() {
		args["read_to_ns"] = nanos(w.Window.To.Add(-1).UTC().Truncate(24*time.Hour).AddDate(0, 0, 1))
	}
	return args, true, nil
}

// ProcessStats contains the SDK's own counters of one process, from its last process row. For a group of instances
// whose rows were rolled up, it contains the cost of their probes.
type ProcessStats struct {
	Service
	Version string
	Stats   map[string]float64
}

// ProcessStats returns the counters of the processes and groups that ran in the window. It reads no other
// rows.
func (w *Warehouse) ProcessStats(ctx context.Context, window Window, f Filter) ([]ProcessStats, error) {
	var out []ProcessStats
	list := func(statement string, args map[string]any) error {
		return w.queryRows(ctx, statement, scope{Filter: f}, args, func(rows *sql.Rows) error {
			var p ProcessStats
			var stats any
			err := rows.Scan(nullable(&p.Namespace), nullable(&p.Name), nullable(&p.Environment), nullable(&p.Version), &stats)
			if err == nil {
				p.Stats, err = statsOf(stats)
			}
			out = append(out, p)
			return err
		})
	}
	args, ok, err := w.processArgs(window, f)
	if err == nil && ok {
		err = list("last_stats", args)
	}
	if err == nil && w.RolledUpTo() != "" {
		err = list("stats_of_sums", filterArgs(window, f))
	}
	return out, err
}

// Accounts returns the processes that have a row in the window. It adds up their rows over all opened files,
// that is whole dates, from RawFrom on. If once is set, rows that are stored several times count once.
func (w *Warehouse) Accounts(ctx context.Context, window Window, f Filter, once bool) ([]Account, error) {
	args, ok, err := w.processArgs(window, f)
	if !ok {
		return nil, err
	}
	var out []Account
	err = w.queryRows(ctx, "processes", scope{Filter: f, Once: once}, args, func(rows *sql.Rows) error {
		var a Account
		var start, first, last, interval int64
		var stats any
		err := rows.Scan(nullable(&a.Namespace), nullable(&a.Name), nullable(&a.Environment), nullable(&a.Version), nullable(&a.Instance), nullable(&start),
			&first, &last, &a.Beats, nullable(&interval), nullable(&a.FirstTotal), nullable(&a.LastTotal), &a.Counted, &a.CountedLater, &a.CountedAfter,
			nullable(&a.Final), &stats)
		if err != nil {
			return err
		}
		if start != 0 {
			a.ProcessStart = timeOf(start)
		}
		a.First, a.Last, a.Interval = timeOf(first), timeOf(last), time.Duration(interval)
		a.Stats, err = statsOf(stats)
		out = append(out, a)
		return err
	})
	return out, err
}

// Excess is the number of measurements of a service in excess of the calls that its processes counted.
type Excess struct {
	Service
	Measured float64
}

// MeasuredAboveCounted returns the services with such an excess. Measurements whose counts have not arrived yet
// are not included. If once is set, rows that are stored several times count once.
func (w *Warehouse) MeasuredAboveCounted(ctx context.Context, window Window, f Filter, once bool) ([]Excess, error) {
	args, ok, err := w.processArgs(window, f)
	if !ok {
		return nil, err
	}
	var out []Excess
	err = w.queryRows(ctx, "measured_above_counted", scope{Filter: f, Once: once}, args, func(rows *sql.Rows) error {
		var e Excess
		err := rows.Scan(nullable(&e.Namespace), nullable(&e.Name), nullable(&e.Environment), &e.Measured)
		out = append(out, e)
		return err
	})
	return out, err
}

// Batch contains the stored totals of one request of a process.
type Batch struct {
	ID      string
	HasBeat bool    // whether it contains a process row
	Total   int64   // emitted calls according to that row
	Calls   float64 // calls in its counts rows
}

// Batches calls read once per process with all its batches and its index in accounts. All rows without a batch
// id form one batch without an id.
func (w *Warehouse) Batches(ctx context.Context, window Window, f Filter, accounts []Account, once bool, read func(place int, batches []Batch)) error {
	args, ok, err := w.processArgs(window, f)
	if !ok || len(accounts) == 0 {
		return err
	}
	g := smallTable{columns: append(textColumns("service_namespace", "service", "environment", "version", "instance"), longColumns("process_start_ns", "process")...)}
	for i := range accounts {
		a := &accounts[i]
		var start any
		if !a.ProcessStart.IsZero() {
			start = nanos(a.ProcessStart)
		}
		g.rows = append(g.rows, []any{orNull(a.Namespace), orNull(a.Name), orNull(a.Environment), orNull(a.Version), orNull(a.Instance), start, int64(i)})
	}
	if err := w.fillTable(ctx, "lacking", g); err != nil {
		return err
	}
	last := 0
	var batches []Batch
	err = w.queryRows(ctx, "batches", scope{Filter: f, Once: once}, args, func(rows *sql.Rows) error {
		var place int
		var b Batch
		var total sql.NullInt64
		err := rows.Scan(&place, nullable(&b.ID), &total, &b.Calls)
		b.HasBeat, b.Total = total.Valid, total.Int64
		if place != last && len(batches) > 0 {
			read(last, batches)
			batches = batches[:0]
		}
		last, batches = place, append(batches, b)
		return err
	})
	if err == nil && len(batches) > 0 {
		read(last, batches)
	}
	return err
}

// statsOf reads a list of structs with a name and a value. It omits values that are not numbers, because
// processes can report any text.
func statsOf(v any) (map[string]float64, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("column sdk_stats: want a list, found %T", v)
	}
	if len(list) == 0 { // in engines where lists are never NULL
		return nil, nil
	}
	out := make(map[string]float64, len(list))
	for _, e := range list {
		pair, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("column sdk_stats: want structs, found %T", e)
		}
		name, _ := pair["name"].(string)
		value, ok := pair["value"].(float64)
		if ok && math.Abs(value) <= math.MaxInt64 { // keeps their sums finite
			out[name] = value
		}
	}
	return out, nil
}

// Duplicate is a queue item with rows that are stored more than once.
type Duplicate struct {
	BatchID string `json:"batch_id"`
	Surplus int64  `json:"surplus_rows"`
	// OtherCollectors is the number of surplus rows that another collector stored.
	OtherCollectors int64 `json:"surplus_rows_of_other_collectors,omitempty"`
}

// Duplicates returns the duplicates of any time, the largest first.
func (w *Warehouse) Duplicates(ctx context.Context, f Filter) ([]Duplicate, error) {
	var out []Duplicate
	args := filterArgs(Window{}, f)
	delete(args, "from_ns")
	delete(args, "to_ns")
	err := w.queryRows(ctx, "duplicates", scope{Filter: f}, args, func(rows *sql.Rows) error {
		var d Duplicate
		columns := []any{&d.BatchID, &d.Surplus}
		if w.dialect.Parted {
			columns = append(columns, &d.OtherCollectors)
		}
		err := rows.Scan(columns...)
		out = append(out, d)
		return err
	})
	return out, err
}

// Stock contains the numbers of stored rows of a service.
type Stock struct {
	Service
	Rows            int64
	ForeignRows     int64
	ForeignCalls    float64 // estimates
	AssumedCalls    float64 // part of ForeignCalls with an unknown sampling probability
	MeasurementRows int64
	UnpricedRows    int64 // part of MeasurementRows
	VersionlessRows int64
	// ConflictingBatches is the number of batches whose number was already used with other content.
	ConflictingBatches int64
	First, Last        time.Time
}

// Stocks returns the stock of every service.
func (w *Warehouse) Stocks(ctx context.Context, window Window, f Filter) ([]Stock, error) {
	var out []Stock
	err := w.queryRows(ctx, "stock", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Stock
		var first, last int64
		err := rows.Scan(nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment),
			&s.Rows, &s.ForeignRows, &s.ForeignCalls, &s.AssumedCalls, &s.MeasurementRows, &s.UnpricedRows, &s.VersionlessRows, &s.ConflictingBatches, &first, &last)
		s.First, s.Last = timeOf(first), timeOf(last)
		out = append(out, s)
		return err
	})
	return out, err
}
