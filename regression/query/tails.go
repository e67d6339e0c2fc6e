package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/stats"
)

// Tail contains the moments and the distribution of the CPU times of a method's calls, from which their
// skewness follows, and the number of measured calls.
type Tail struct {
	MethodName
	// Above is set for the calls above the threshold from which all calls are timed, and unset for the others.
	Above                 bool
	Measured, CPUMeasured int64
	// Powers are sums of powers of the CPU times in ms; each call counts with its weight. Octaves contains the
	// same calls by half octave.
	Powers  stats.Powers
	Octaves stats.Octaves
}

// Tails returns the tails of every method with measured calls. The window can begin before the window of the
// warehouse.
func (w *Warehouse) Tails(ctx context.Context, window Window, f Filter) (out []Tail, err error) {
	w, done, err := w.extendTo(ctx, window.From)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	err = w.queryRows(ctx, "tails", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var t Tail
		var above int64
		var octave sql.NullInt64
		var part stats.Octave
		err := rows.Scan(nullable(&t.Namespace), nullable(&t.Name), nullable(&t.Environment), nullable(&t.Class), nullable(&t.Method), &above, &octave,
			nullable(&t.Measured), nullable(&t.CPUMeasured), &t.Powers.N, &t.Powers.X, &t.Powers.XX, &t.Powers.XXX, &part.Records, &part.Logs)
		t.Above = above == 1
		if last := len(out) - 1; last < 0 || out[last].MethodName != t.MethodName || out[last].Above != t.Above {
			out = append(out, Tail{MethodName: t.MethodName, Above: t.Above, Octaves: stats.Octaves{}})
		}
		same := &out[len(out)-1]
		same.Measured += t.Measured
		same.CPUMeasured += t.CPUMeasured
		same.Powers.Add(t.Powers)
		if octave.Valid {
			part.N = t.Powers.N
			same.Octaves.Add(stats.Octaves{int(octave.Int64): part})
		}
		return err
	})
	return out, err
}

// extendTo returns the same commit with rows from an earlier time, if it has any, and a function that releases
// it.
func (w *Warehouse) extendTo(ctx context.Context, from time.Time) (*Warehouse, func() error, error) {
	if w.Window.From.IsZero() || !from.Before(w.Window.From) {
		return w, func() error { return nil }, nil
	}
	longer := &Warehouse{Snapshot: w.Snapshot, Window: Window{from, w.Window.To}, dialect: w.dialect, verified: w.verified, notices: w.notices}
	if w.remote != nil {
		r := *w.remote
		r.from = bigquery.Date(dateOf(from))
		longer.remote, longer.db, longer.given, longer.Files = &r, w.db, w.given, w.Files
		return longer, func() error { return nil }, nil
	}
	var err error
	if w.cache == nil {
		if longer.Files, err = filesOf(w.Snapshot, longer.Window); err == nil && len(longer.Files) == len(w.Files) {
			return w, func() error { return nil }, nil
		}
	} else {
		longer.Files, err = w.filesSince(ctx, from)
	}
	if err == nil {
		err = longer.verify(ctx, false)
	}
	if err == nil {
		err = longer.start(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open rows from %s, to compute the skewness of calls: %w", from.UTC().Format(time.RFC3339), err), longer.Close())
	}
	return longer, longer.Close, nil
}
