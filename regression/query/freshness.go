package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Freshness is the delay from the end of rows until they are stored.
type Freshness struct {
	// P99 is the delay of 99% of the rows at most, if known.
	P99   time.Duration
	Known bool
	// Note contains the source of P99, or the reason why it is unknown; empty for files.
	Note string
}

// Freshness returns the freshness of the slowest root, see FreshnessByRoot.
func (w *Warehouse) Freshness(ctx context.Context, window Window, f Filter) (Freshness, error) {
	all, err := w.FreshnessByRoot(ctx, window, f)
	if err != nil {
		return Freshness{}, err
	}
	return Slowest(all), nil
}

// Slowest returns the freshness of the root with the longest delay. The result is unknown only if all are.
func Slowest(all []Freshness) (slowest Freshness) {
	for i, f := range all {
		if i == 0 || f.Known && (!slowest.Known || f.P99 > slowest.P99) {
			slowest = f
		}
	}
	return slowest
}

// FreshnessByRoot compares the end of rows with the commit time of their file in the manifest, for each of the
// Roots. It is unknown where no file remains as it was first written, because compacted files are newer than their
// rows. In BigQuery the source is the load jobs.
func (w *Warehouse) FreshnessByRoot(ctx context.Context, window Window, f Filter) ([]Freshness, error) {
	if w.remote != nil {
		fresh, err := w.remote.freshness(ctx, window, f, time.Now())
		return []Freshness{fresh}, err
	}
	all := make([]Freshness, len(w.Roots))
	g := smallTable{columns: append(textColumns("parquet_file"), longColumns("committed_ns", "root")...)}
	for i := range w.Roots {
		root := &w.Roots[i]
		if root.inBucket {
			all[i].Note = "until the rows are on the disk of the collector; the delay until they are in the bucket is its metric otelcol_exporter_warehouse_bucket_behind"
		}
		for _, file := range root.Files {
			if file.Kind != table.KindRaw {
				continue
			}
			path, err := filepath.Abs(file.Path)
			if err != nil {
				return nil, err
			}
			g.rows = append(g.rows, []any{path, file.Committed.UnixNano(), int64(i)})
		}
	}
	if err := w.fillTable(ctx, "file_commits", g); err != nil {
		return nil, err
	}
	err := w.queryRows(ctx, "freshness", scope{Filter: f}, filterArgs(window, f), func(r *sql.Rows) error {
		var root int
		var seconds float64
		err := r.Scan(&root, nullable(&seconds))
		all[root].P99, all[root].Known = time.Duration(seconds*float64(time.Second)), true
		return err
	})
	return all, err
}

const (
	// jobsOf is the period of load jobs that are read if the window has no start.
	jobsOf = 24 * time.Hour
	// loadedWithin is the maximum assumed delay between rows and their load job.
	loadedWithin = time.Hour
)

// freshness computes the freshness from load jobs. Each job records the time by which all but one in 200 of its
// rows had ended. The slowest jobs, with one in 200 of all rows, are left out. So 99% of the rows were stored
// within the returned delay or sooner.
func (r *remote) freshness(ctx context.Context, window Window, f Filter, now time.Time) (Freshness, error) {
	if f != (Filter{}) {
		return Freshness{Note: "load jobs hold rows of all services and environments: ask without --service, --namespace and --environment"}, nil
	}
	from, to := window.From, window.To
	if from.IsZero() {
		from = now.Add(-jobsOf)
	}
	if epoch := time.Unix(0, 0); from.Before(epoch) { // the service rejects earlier times
		from = epoch
	}
	if !to.IsZero() {
		to = to.Add(loadedWithin)
	}
	runs, whole, err := r.querier.Loads(ctx, from, to)
	if err != nil {
		if ctx.Err() != nil {
			return Freshness{}, err
		}
		return Freshness{Note: jobsUnlistedReason(err)}, nil
	}
	fresh := latency(runs)
	since := from.UTC().Format("2006-01-02 15:04")
	switch {
	case len(runs) == 0:
		fresh.Note = "no load job since " + since + " UTC; with `mode: storage_write` rows are stored when a write ends, and the delay is the collector's metric " +
			"otelcol_exporter_warehouse_oldest_unflushed_age"
	default:
		failed := 0
		for _, run := range runs {
			if run.Failed {
				failed++
			}
		}
		fresh.Note = fmt.Sprintf("%d load jobs since %s UTC, %d of them failed", len(runs), since, failed)
	}
	if !whole {
		fresh.Note += "; the project has more jobs than were read"
	}
	return fresh, nil
}

// jobsUnlistedReason returns the reason why jobs can't be listed.
func jobsUnlistedReason(err error) string {
	var failure *bigquery.Failure
	if errors.As(err, &failure) && failure.Status == 403 {
		return "the jobs of the project can't be listed: it needs the permission bigquery.jobs.listAll, as in roles/bigquery.resourceViewer"
	}
	return "the jobs of the project can't be listed: " + err.Error()
}

func latency(runs []bigquery.LoadRun) Freshness {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r bigquery.LoadRun) bool { return r.Failed || r.Rows == 0 })
	took := func(r bigquery.LoadRun) time.Duration { return r.Ended.Sub(r.RowsFrom) }
	slices.SortFunc(runs, func(a, b bigquery.LoadRun) int { return int(min(1, max(-1, took(a)-took(b)))) })
	var all, sum int64
	for _, r := range runs {
		all += r.Rows
	}
	const leftOut = 200 // one row in 200
	for _, r := range runs {
		if sum += r.Rows; sum >= all-all/leftOut {
			return Freshness{P99: took(r), Known: true}
		}
	}
	return Freshness{}
}
