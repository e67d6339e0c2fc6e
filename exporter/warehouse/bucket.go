package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
)

// BucketConfig configures the object store that the directory is uploaded to.
type BucketConfig struct {
	// URL is the address: gs://bucket/path, s3://bucket/path?region=... or file:///directory.
	URL string `mapstructure:"url"`
	// Prefix is this collector's own prefix in the bucket. Empty means the name of the host.
	Prefix string `mapstructure:"prefix"`
	// Interval is the pause between two uploads.
	Interval time.Duration `mapstructure:"interval"`
	// LocalBytes bounds the data files in the directory.
	LocalBytes units.Bytes `mapstructure:"local_bytes"`
}

func defaultBucket() BucketConfig {
	return BucketConfig{Interval: bucket.DefaultInterval, LocalBytes: bucket.DefaultLocalBytes}
}

const (
	minLocalBytes = 64 << 20
	minInterval   = time.Second
	maxInterval   = time.Minute
)

// Validate reports all faults at once.
func (c *BucketConfig) Validate() error {
	var f faults
	err := bucket.Check(c.URL)
	f.require(err == nil, "`url`: %w", err)
	if c.Prefix != "" {
		err := bucket.CheckPrefix(c.Prefix)
		f.require(err == nil, "`prefix` %w", err)
	}
	f.require(c.Interval >= minInterval && c.Interval <= maxInterval, "`interval` must be between %s and %s, found %s", minInterval, maxInterval, c.Interval)
	f.require(c.LocalBytes >= minLocalBytes, "`local_bytes` must be at least %d, found %d", minLocalBytes, c.LocalBytes)
	return errors.Join(f...)
}

// prefix returns the prefix of this collector.
func (c *BucketConfig) prefix() (string, error) {
	if c.Prefix != "" {
		return c.Prefix, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("`bucket::prefix` must be set, since the host has no name: %w", err)
	}
	if err := bucket.CheckPrefix(host); err != nil {
		return "", fmt.Errorf("`bucket::prefix` must be set, since the host's name can't be one: it %w", err)
	}
	return host, nil
}

func openBucket(cfg *Config, warn func(string)) (warehouse.Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	b := cfg.Bucket.Get()
	prefix, err := b.prefix()
	if err != nil {
		return nil, err
	}
	w, err := bucket.NewWriter(ctx, bucket.Options{
		Address: b.URL, Prefix: prefix, Directory: cfg.Path,
		LocalBytes: int64(b.LocalBytes), MinFree: int64(cfg.Disk.MinFreeBytes), Interval: b.Interval,
		Grace: time.Duration(cfg.Parquet.Grace), CloseWithin: cfg.ShutdownTimeout, Warn: warn,
	}, cfg.parquetOptions())
	if err != nil {
		return nil, aboutURL(err)
	}
	return w, nil
}

// aboutURL adds the configuration key to an error of the store.
func aboutURL(err error) error {
	if errors.Is(err, bucket.ErrRefused) {
		return fmt.Errorf("`bucket::url`: %w", err)
	}
	return err
}

// bucketMirror returns the mirror that uploads the directory, nil without a bucket.
func (w *warehouseExporter) bucketMirror() *bucket.Mirror {
	if s := w.sink.Load(); s != nil {
		if b, ok := (*s).(*bucket.Writer); ok {
			return b.Mirror
		}
	}
	return nil
}

func (w *warehouseExporter) startUploads() {
	m := w.bucketMirror()
	if m == nil {
		return
	}
	w.logger.Info("The warehouse is uploaded.", zap.String("to", m.Address()), zap.String("path", w.cfg.Path))
	m.Start(func(err error) {
		err = aboutURL(err)
		w.health.set(uploading, err, w.host)
		if err == nil {
			w.logger.Info("Uploading the warehouse works again.")
			return
		}
		w.logger.Error("Uploading the warehouse fails, and is tried again. Rows wait in its directory.", zap.Error(err))
	})
}

// observeBucket registers the metrics of uploads.
func (t *telemetry) observeBucket(w *warehouseExporter) error {
	stats := func() (s bucket.Stats) {
		if m := w.bucketMirror(); m != nil {
			s = m.Stats()
		}
		return s
	}
	b := t.builder
	return errors.Join(
		number(b.RegisterExporterWarehouseBucketUnsentBytesCallback, func() int64 { return stats().UnsentBytes }),
		seconds(b.RegisterExporterWarehouseBucketBehindCallback, func() time.Duration { return stats().Behind }),
		number(b.RegisterExporterWarehouseBucketLocalBytesCallback, func() int64 { return stats().LocalBytes }),
		b.RegisterExporterWarehouseBucketTransferredCallback(func(_ context.Context, o metric.Int64Observer) error {
			s := stats()
			o.Observe(s.Uploaded, label("direction", "up"))
			o.Observe(s.Downloaded, label("direction", "down"))
			return nil
		}),
		number(b.RegisterExporterWarehouseBucketFailuresCallback, func() int64 { return stats().Failures }),
	)
}
