package main

import (
	"context"
	"fmt"
	"math"

	"github.com/corehour/corehour/integration/harness"
)

// reconciliation compares the sent with the stored measurements.
type reconciliation struct {
	lost        float64 // measurements reported as dropped by the collector's metrics
	unaccounted float64 // measurements
	calls       float64 // unaccounted for
	faults      int
}

func reconcile(ctx context.Context, command harness.Command, sent sentCounts, metrics harness.Metrics) (reconciliation, error) {
	var stored []struct {
		Calls    float64 `json:"calls"`
		Measured float64 `json:"measured"`
	}
	if err := command.SQL(ctx, &stored, "SELECT SUM(calls) AS calls, SUM(CAST(measured AS DOUBLE)) AS measured FROM method_calls WHERE kind <> 'process'"); err != nil {
		return reconciliation{}, err
	}
	if len(stored) != 1 {
		return reconciliation{}, fmt.Errorf("sums have %d rows", len(stored))
	}
	check, err := command.Check(ctx)
	if err != nil {
		return reconciliation{}, err
	}
	lost := metrics.Sum("otelcol_exporter_warehouse_fold_lost", "what", "measurements") + metrics.Sum("otelcol_exporter_warehouse_rows_refused")
	return reconciliation{
		lost:        lost,
		unaccounted: math.Abs(float64(sent.measured) - stored[0].Measured - lost),
		calls:       math.Abs(float64(sent.calls) - stored[0].Calls),
		faults:      len(check.Faults),
	}, nil
}
