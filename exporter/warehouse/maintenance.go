package warehouse

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/maintain"
)

// MaintenanceConfig configures how the files of the directory are merged, rolled up and
// expired while others are written. An age is counted from the end of a UTC date; 0
// switches its rule off.
type MaintenanceConfig struct {
	// Enabled runs maintenance in the collector.
	Enabled bool `mapstructure:"enabled"`
	// Interval is the pause between two runs.
	Interval time.Duration `mapstructure:"interval"`
	// MaxFiles is the number of raw files of a date above which its small files are merged.
	MaxFiles int `mapstructure:"max_files"`
	// MinuteAfter and HourAfter are the ages at which rows are rolled up, counted from the end of a UTC date; 0: never.
	MinuteAfter units.Duration `mapstructure:"minute_after"`
	HourAfter   units.Duration `mapstructure:"hour_after"`
	// KeepRaw, KeepIDs and KeepRollups are the ages beyond which days of raw rows are
	// dropped, ids are removed from raw rows, and rolled-up days are dropped; 0: never.
	KeepRaw     units.Duration `mapstructure:"keep_raw"`
	KeepIDs     units.Duration `mapstructure:"keep_ids"`
	KeepRollups units.Duration `mapstructure:"keep_rollups"`
	// DropOldest allows the oldest days to be dropped at the limits of the disk.
	DropOldest bool `mapstructure:"drop_oldest"`
}

// DiskConfig are the limits of the disk beyond which writes fail.
type DiskConfig struct {
	// MaxBytes is the maximum size of the warehouse; 0 means no limit.
	MaxBytes units.Bytes `mapstructure:"max_bytes"`
	// MinFreeBytes is the minimum free space of the file system; 0 means no limit.
	MinFreeBytes units.Bytes `mapstructure:"min_free_bytes"`
}

// highWater is the share of the limits above which the oldest days are dropped, if allowed, so that writes
// continue.
const highWater = 0.9

// rowsInMemory leaves requests their share of the memory limiter's limit.
const rowsInMemory = 250_000

func defaultMaintenance() MaintenanceConfig {
	return MaintenanceConfig{
		Enabled: true, Interval: time.Minute, MaxFiles: maintain.DefaultMaxFiles,
		MinuteAfter: units.Duration(maintain.DefaultMinuteAfter), HourAfter: units.Duration(maintain.DefaultHourAfter), KeepRollups: units.Duration(maintain.DefaultKeepRollups),
	}
}

func (c *Config) policy() maintain.Policy {
	m := &c.Maintenance
	return maintain.Policy{
		MaxFiles: m.MaxFiles, MinuteAfter: time.Duration(m.MinuteAfter), HourAfter: time.Duration(m.HourAfter),
		KeepRaw: time.Duration(m.KeepRaw), KeepIDs: time.Duration(m.KeepIDs), KeepRollups: time.Duration(m.KeepRollups),
		MaxBytes: int64(highWater * float64(c.Disk.MaxBytes)), MinFree: int64(float64(c.Disk.MinFreeBytes) / highWater),
		DropOldest: m.DropOldest, SumRows: maintain.DefaultSumRows,
	}
}

func (c *Config) validateMaintenance(f *faults) {
	f.require(c.Disk.MaxBytes >= 0, "`disk::max_bytes` must not be negative, found %d", c.Disk.MaxBytes)
	f.require(c.Disk.MinFreeBytes >= 0, "`disk::min_free_bytes` must not be negative, found %d", c.Disk.MinFreeBytes)
	if !c.Maintenance.Enabled {
		return
	}
	f.require(c.Maintenance.Interval > 0, "`maintenance::interval` must be positive, found %s", c.Maintenance.Interval)
	p := c.policy()
	p.MaxBytes, p.MinFree = max(0, p.MaxBytes), max(0, p.MinFree)
	if c.Bucket.HasValue() && p.DropOldest && p.MaxBytes == 0 {
		f.require(false, "`maintenance::drop_oldest` has no effect with `bucket` and without `disk::max_bytes`, since dropped dates make room in the bucket and not on the disk of `path`: set the limit, or leave it out")
		p.DropOldest = false
	}
	*f = append(*f, p.Validate(func(field string) string {
		if field == "max_bytes" || field == "min_free_bytes" {
			return "`disk::" + field + "`"
		}
		return "`maintenance::" + field + "`"
	}))
}

// maintain merges, rolls up and expires files until the shutdown begins. It runs in its own goroutine and
// holds the commit lock only briefly, so it never delays a write.
func (w *warehouseExporter) maintain(ctx context.Context) {
	ticker := time.NewTicker(w.cfg.Maintenance.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.maintainOnce(ctx)
	}
}

func (w *warehouseExporter) maintainOnce(ctx context.Context) {
	job := maintain.Job{Root: w.cfg.Path, Policy: w.cfg.policy(), RowsInMemory: rowsInMemory, Parquet: w.cfg.parquetOptions(), Done: w.telemetry.maintained}
	if m := w.bucketMirror(); m != nil {
		job.Fetch, job.FetchBytes = m.Fetch, m.FetchBytes()
		// Dropping dates frees the bucket, not this disk.
		job.Policy.MinFree = 0
	}
	begin := time.Now()
	report, err := job.Run(ctx)
	switch {
	case errors.Is(err, warehouse.ErrLocked) && len(report.Steps) == 0, errors.Is(err, warehouse.ErrEmpty), errors.Is(err, warehouse.ErrMissing), ctx.Err() != nil:
		return // another process maintains the directory, or there is nothing to do
	case err != nil:
		w.telemetry.maintenanceFailed()
		w.logger.Error("Maintenance of the warehouse fails; it goes on with what it can and tries again.", zap.Error(err))
	}
	w.telemetry.maintenance(report, time.Since(begin))
	if len(report.Steps) > 0 {
		w.logger.Info("Maintained the warehouse.", zap.Int("steps", len(report.Steps)), zap.Int("files_deleted", report.Removed),
			zap.Int64("bytes", report.Bytes), zap.Duration("took", time.Since(begin)))
	}
}
