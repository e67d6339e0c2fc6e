package warehouse

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/corehour/corehour/exporter/warehouse/internal/metadata"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/maintain"
)

// Causes of rows being aggregated.
const (
	causeRefused     = "refused"
	causeWriteFailed = "write_failed"
	causeShutdown    = "shutdown"
)

// telemetry is the exporter's own metrics. They are updated per request or per
// batch, never per row.
type telemetry struct {
	builder *metadata.TelemetryBuilder
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	return &telemetry{builder}, err
}

func label(name, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(name, value)))
}

func (t *telemetry) skipped(s methodspan.Skipped) {
	addSome(t.builder.ExporterWarehouseSpansSkipped, int64(s.NotMethod), "reason", "not_method")
	addSome(t.builder.ExporterWarehouseSpansSkipped, int64(s.Invalid), "reason", "invalid")
}

// addSome skips n == 0, so that an event that never happened has no time series.
func addSome[N int64 | float64](counter interface {
	Add(context.Context, N, ...metric.AddOption)
}, n N, name, value string) {
	if n > 0 {
		counter.Add(context.Background(), n, label(name, value))
	}
}

func (t *telemetry) duplicates(rows int) {
	if rows > 0 {
		t.builder.ExporterWarehouseDuplicateRows.Add(context.Background(), int64(rows))
	}
}

func (t *telemetry) offerRefused(reason string) {
	t.builder.ExporterWarehouseOffersRefused.Add(context.Background(), 1, label("reason", reason))
}

func (t *telemetry) overflowed(f overflowResult, cause string) {
	addSome(t.builder.ExporterWarehouseMeasurementsFolded, f.measurements, "cause", cause)
	addSome(t.builder.ExporterWarehouseCallsFolded, f.calls, "cause", cause)
	t.lost(f.lostRows)
	t.lostOf("ids", float64(len(f.forgotten)))
}

func (t *telemetry) lost(l losses) {
	t.lostOf("measurements", l.measurements)
	t.lostOf("calls", l.calls)
	t.lostOf("process_rows", l.processRows)
}

func (t *telemetry) lostOf(what string, n float64) {
	addSome(t.builder.ExporterWarehouseFoldLost, n, "what", what)
}

func (t *telemetry) unknown(rows int) {
	t.builder.ExporterWarehouseWriteUnknown.Add(context.Background(), int64(rows))
}

func (t *telemetry) damaged() {
	t.builder.ExporterWarehouseRequestsDamaged.Add(context.Background(), 1)
}

func (t *telemetry) attempt(d time.Duration, err error) {
	ctx := context.Background()
	t.builder.ExporterWarehouseWriteDuration.Record(ctx, d.Seconds())
	if err != nil {
		t.builder.ExporterWarehouseWriteFailures.Add(ctx, 1)
	}
}

func (t *telemetry) written(rows int, bytes int64) {
	ctx := context.Background()
	t.builder.ExporterWarehouseRowsWritten.Add(ctx, int64(rows))
	t.builder.ExporterWarehouseBytesWritten.Add(ctx, bytes)
}

func (t *telemetry) rowsRefused(reason string, rows int) {
	t.builder.ExporterWarehouseRowsRefused.Add(context.Background(), int64(rows), label("reason", reason))
}

func (t *telemetry) maintained(s maintain.Step) {
	ctx := context.Background()
	t.builder.ExporterWarehouseMaintenanceSteps.Add(ctx, 1, label("action", string(s.Action)))
	t.builder.ExporterWarehouseMaintenanceRows.Add(ctx, s.Rows, label("action", string(s.Action)))
}

func (t *telemetry) maintenanceFailed() {
	t.builder.ExporterWarehouseMaintenanceFailures.Add(context.Background(), 1)
}

func (t *telemetry) maintenance(r *maintain.Result, took time.Duration) {
	ctx := context.Background()
	t.builder.ExporterWarehouseMaintenanceDuration.Record(ctx, took.Seconds())
	t.builder.ExporterWarehouseSize.Record(ctx, r.Bytes)
	addSome(t.builder.ExporterWarehouseMaintenanceRows, r.Kept, "action", "keep")
	addSome(t.builder.ExporterWarehouseMaintenanceRows, r.Hostless, "action", "no_host")
}

// number registers a metric with one integer value.
func number(register func(metric.Int64Callback) error, get func() int64) error {
	return register(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(get())
		return nil
	})
}

// seconds registers a metric with one duration.
func seconds(register func(metric.Float64Callback) error, get func() time.Duration) error {
	return register(func(_ context.Context, o metric.Float64Observer) error {
		o.Observe(get().Seconds())
		return nil
	})
}

// observe registers the observable metrics.
func (t *telemetry) observe(w *warehouseExporter) error {
	err := errors.Join(
		number(t.builder.RegisterExporterWarehouseFoldCellsCallback, func() int64 { return int64(w.overflow.cells()) }),
		seconds(t.builder.RegisterExporterWarehouseOldestUnflushedAgeCallback, func() time.Duration { return w.items.age(time.Now()) }),
		t.builder.RegisterExporterWarehouseForgottenItemsCallback(func(_ context.Context, o metric.Int64Observer) error {
			if s := w.sink.Load(); s != nil {
				_, dropped := (*s).Remembered()
				o.Observe(dropped)
			}
			return nil
		}),
	)
	if w.cfg.BigQuery.HasValue() {
		err = errors.Join(err, t.observeBigQuery(w))
	}
	if w.cfg.Bucket.HasValue() {
		err = errors.Join(err, t.observeBucket(w))
	}
	return err
}

// observeBigQuery registers the metrics of BigQuery.
func (t *telemetry) observeBigQuery(w *warehouseExporter) error {
	stats := func() (s bigquery.Stats) {
		if open := w.sink.Load(); open != nil {
			if b, ok := (*open).(interface{ Stats() bigquery.Stats }); ok {
				s = b.Stats()
			}
		}
		return s
	}
	return errors.Join(
		t.builder.RegisterExporterWarehouseBigqueryDeadLettersCallback(func(_ context.Context, o metric.Int64Observer) error {
			s := stats()
			o.Observe(s.DeadLetters, label("outcome", "kept"))
			o.Observe(s.DeadLettersDropped, label("outcome", "dropped"))
			return nil
		}),
		number(t.builder.RegisterExporterWarehouseBigqueryReconnectsCallback, func() int64 { return stats().Reconnects }),
		t.observeLoads(stats),
		number(t.builder.RegisterExporterWarehouseBigqueryUnknownRowsCallback, func() int64 { return stats().UnknownRows }),
	)
}
