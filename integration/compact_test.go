package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// TestCompact_NextToCollectorAndReaders runs `corehour compact` repeatedly next to a collector that
// writes. No reader fails, no answer has fewer calls than the one before, and at the end every call
// is stored once.
func TestCompact_NextToCollectorAndReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "1ms", "--flush", "50ms")
	p.awaitMetric(t, 1, "otelcol_exporter_warehouse_rows_written")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	begin := func(what string, do func() error) {
		readers.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				if err := do(); err != nil && ctx.Err() == nil {
					t.Errorf("%s, time %d: %v", what, n, err)
					stop()
				}
			}
		})
	}
	seen := 0.0
	var answers, costs atomic.Int64
	begin("sql", func() error {
		var rows []struct {
			Calls float64 `json:"calls"`
		}
		if err := p.command.SQL(ctx, &rows, "SELECT SUM(calls) AS calls FROM method_calls"); err != nil {
			return err
		}
		if answers.Add(1); len(rows) != 1 || rows[0].Calls < seen {
			return fmt.Errorf("%v calls after %v", rows, seen)
		}
		seen = rows[0].Calls
		return nil
	})
	begin("cost", func() error {
		costs.Add(1)
		_, err := p.command.Cost(ctx)
		return err
	})
	const wanted = 8
	merges, merged := 0, int64(0)
	begin("compact", func() error {
		n, rows, err := compact(ctx, p.command)
		merges, merged = merges+n, merged+rows
		if merges >= wanted && answers.Load() >= wanted && costs.Load() >= wanted/2 {
			stop()
		}
		return err
	})
	select {
	case <-ctx.Done():
	case <-time.After(awaitPatience):
		t.Error("nothing came to an end")
	}
	stop()
	readers.Wait()
	t.Logf("%d merges of %d rows alongside %d answers of sql and %d of cost", merges, merged, answers.Load(), costs.Load())

	r := l.end(t)
	p.stop(t)
	if _, _, err := compact(t.Context(), p.command); err != nil {
		t.Error(err)
	}
	requireExact(t, p, r)
}

// compact runs `corehour compact` once and returns the number of merges and of merged rows.
func compact(ctx context.Context, command harness.Command) (merges int, rows int64, err error) {
	o, err := command.Run(ctx, "compact", "--max-files", "2", "--format", "json")
	if err != nil {
		return 0, 0, err
	}
	var report struct {
		Steps []struct {
			Action  string `json:"action"`
			Rows    int64  `json:"rows"`
			OutRows int64  `json:"out_rows"`
		} `json:"steps"`
	}
	if o.Code != harness.ExitNothing {
		return 0, 0, errors.New(o.String())
	}
	if err := json.Unmarshal(o.Stdout, &report); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, o)
	}
	for _, s := range report.Steps {
		if s.Action != "merge" || s.Rows != s.OutRows {
			return 0, 0, fmt.Errorf("a step is %+v", s)
		}
		merges, rows = merges+1, rows+s.Rows
	}
	return merges, rows, nil
}
