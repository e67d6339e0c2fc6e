package warehouse

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// observeLoads registers the metrics that only load jobs have.
func (t *telemetry) observeLoads(stats func() bigquery.Stats) error {
	number := func(register func(metric.Int64Callback) error, get func(bigquery.Stats) int64) error {
		return register(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(get(stats()))
			return nil
		})
	}
	b := t.builder
	return errors.Join(
		b.RegisterExporterWarehouseBigqueryLoadJobsCallback(func(_ context.Context, o metric.Int64Observer) error {
			s := stats()
			o.Observe(s.Loads, label("outcome", "loaded"))
			o.Observe(s.LoadsFailed, label("outcome", "failed"))
			return nil
		}),
		number(b.RegisterExporterWarehouseBigqueryLoadJobsRunningCallback, func(s bigquery.Stats) int64 { return s.LoadsRunning }),
		number(b.RegisterExporterWarehouseBigqueryLoadedRowsCallback, func(s bigquery.Stats) int64 { return s.LoadedRows }),
		number(b.RegisterExporterWarehouseBigqueryObjectsLeftCallback, func(s bigquery.Stats) int64 { return s.ObjectsLeft }),
		number(b.RegisterExporterWarehouseBigquerySpoolSizeCallback, func(s bigquery.Stats) int64 { return s.SpoolBytes }),
		b.RegisterExporterWarehouseBigquerySpoolAgeCallback(func(_ context.Context, o metric.Float64Observer) error {
			age := 0.0
			if since := stats().SpooledSince; !since.IsZero() {
				age = max(0, time.Since(since).Seconds())
			}
			o.Observe(age)
			return nil
		}),
	)
}
