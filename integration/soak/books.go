package main

import (
	"context"
	"fmt"
	"math"

	"github.com/corehour/corehour/integration/harness"
)

// books are what was sent beside what is stored.
type books struct {
	lost        float64 // measurements that the collector's metrics say it dropped
	unaccounted float64 // measurements
	calls       float64 // unaccounted for
	faults      int
}

func settle(ctx context.Context, command harness.Command, sent tally, metrics harness.Metrics) (books, error) {
	var stored []struct {
		Calls    float64 `json:"calls"`
		Measured float64 `json:"measured"`
	}
	if err := command.SQL(ctx, &stored, "SELECT SUM(calls) AS calls, SUM(CAST(measured AS DOUBLE)) AS measured FROM method_calls WHERE kind <> 'process'"); err != nil {
		return books{}, err
	}
	if len(stored) != 1 {
		return books{}, fmt.Errorf("sums have %d rows", len(stored))
	}
	check, err := command.Check(ctx)
	if err != nil {
		return books{}, err
	}
	lost := metrics.Sum("otelcol_exporter_warehouse_fold_lost", "what", "measurements") + metrics.Sum("otelcol_exporter_warehouse_rows_refused")
	return books{
		lost:        lost,
		unaccounted: math.Abs(float64(sent.measured) - stored[0].Measured - lost),
		calls:       math.Abs(float64(sent.calls) - stored[0].Calls),
		faults:      len(check.Faults),
	}, nil
}
