package warehouse

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"

	"github.com/corehour/corehour/exporter/warehouse/internal/metadata"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// NewFactory makes exporters of type warehouse.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(
		metadata.Type,
		createDefaultConfig,
		exporter.WithTraces(createTraces, metadata.TracesStability),
	)
}

func createTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	return newWarehouse(ctx, set, cfg.(*Config), openSink)
}

// openSink opens the configured store.
func openSink(cfg *Config, warn func(string)) (warehouse.Store, error) {
	if cfg.BigQuery.HasValue() {
		return openBigQuery(cfg, warn)
	}
	if cfg.Bucket.HasValue() {
		return openBucket(cfg, warn)
	}
	return table.NewWriter(cfg.Path, cfg.parquetOptions())
}

func (c *Config) parquetOptions() table.Options {
	return table.Options{
		Late:        time.Duration(c.Parquet.Late),
		Future:      time.Duration(c.Parquet.Future),
		Grace:       time.Duration(c.Parquet.Grace),
		RememberFor: time.Duration(c.Parquet.RememberFor),
		RememberMax: c.Parquet.RememberMax,
		MaxBytes:    int64(c.Disk.MaxBytes),
		MinFree:     int64(c.Disk.MinFreeBytes),
	}
}
