package warehouse

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// observeLoads registers the metrics of load jobs.
func (t *telemetry) observeLoads(stats func() bigquery.Stats) error {
	b := t.builder
	return errors.Join(
		b.RegisterExporterWarehouseBigqueryLoadJobsCallback(func(_ context.Context, o metric.Int64Observer) error {
			s := stats()
			o.Observe(s.Loads, label("outcome", "loaded"))
			o.Observe(s.LoadsFailed, label("outcome", "failed"))
			return nil
		}),
		number(b.RegisterExporterWarehouseBigqueryLoadJobsRunningCallback, func() int64 { return stats().LoadsRunning }),
		number(b.RegisterExporterWarehouseBigqueryLoadedRowsCallback, func() int64 { return stats().LoadedRows }),
		number(b.RegisterExporterWarehouseBigqueryObjectsLeftCallback, func() int64 { return stats().ObjectsLeft }),
		number(b.RegisterExporterWarehouseBigquerySpoolSizeCallback, func() int64 { return stats().SpoolBytes }),
		seconds(b.RegisterExporterWarehouseBigquerySpoolAgeCallback, func() (age time.Duration) {
			if since := stats().SpooledSince; !since.IsZero() {
				age = max(0, time.Since(since))
			}
			return age
		}),
	)
}
