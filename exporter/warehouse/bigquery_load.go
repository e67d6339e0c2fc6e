package warehouse

import (
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// Values of bigquery::mode.
const (
	// ModeStorageWrite sends rows over the Storage Write API. Rows are in the table when a write
	// ends; writes are billed by bytes.
	ModeStorageWrite = "storage_write"
	// ModeLoad loads files by jobs. Rows are in the table some minutes later; loading is free.
	ModeLoad = "load"
)

// BigQueryLoadConfig configures load jobs.
type BigQueryLoadConfig struct {
	// Bucket is the Cloud Storage bucket that files are loaded from.
	Bucket string `mapstructure:"bucket"`
	// Prefix is the beginning of the objects' names.
	Prefix string `mapstructure:"prefix"`
	// Interval is the time from one job to the next.
	Interval time.Duration `mapstructure:"interval"`
	// SpoolBytes bounds the files that wait in the directory.
	SpoolBytes units.Bytes `mapstructure:"spool_bytes"`
	// JobsInFlight is the maximum number of concurrent jobs.
	JobsInFlight int `mapstructure:"jobs_in_flight"`
}

func defaultBigQueryLoad() BigQueryLoadConfig {
	return BigQueryLoadConfig{
		Prefix: bigquery.DefaultLoadPrefix, Interval: bigquery.DefaultLoadInterval,
		SpoolBytes: bigquery.DefaultSpoolBytes, JobsInFlight: bigquery.DefaultLoadJobs,
	}
}

// maxJobsInFlight exceeds the number of concurrent jobs that help one table.
const maxJobsInFlight = 100

// Validate reports all faults at once.
func (c *BigQueryLoadConfig) Validate() error {
	var f faults
	err := bigquery.CheckBucket(c.Bucket)
	f.require(err == nil, "`bucket`: %w", err)
	err = bigquery.CheckPrefix(c.Prefix)
	f.require(err == nil, "`prefix`: %w", err)
	f.require(c.Interval >= bigquery.MinLoadInterval, "`interval` must be at least %s, because a table takes 1,500 load jobs a day, found %s", bigquery.MinLoadInterval, c.Interval)
	f.require(c.SpoolBytes > 0, "`spool_bytes` must be positive, found %d", c.SpoolBytes)
	f.require(c.JobsInFlight >= 1 && c.JobsInFlight <= maxJobsInFlight, "`jobs_in_flight` must be from 1 to %d, found %d", maxJobsInFlight, c.JobsInFlight)
	return errors.Join(f...)
}

// options returns the options of the sink.
func (c *BigQueryLoadConfig) options() bigquery.LoadOptions {
	return bigquery.LoadOptions{Bucket: c.Bucket, Prefix: c.Prefix, Interval: c.Interval, SpoolBytes: int64(c.SpoolBytes), Jobs: c.JobsInFlight}
}

// validateMode also rejects options without effect in the mode.
func (c *BigQueryConfig) validateMode(f *faults) {
	switch c.Mode {
	case ModeStorageWrite:
		f.require(!c.Load.HasValue(), "`load` has no effect with `mode: %s` and must be left out; set `mode: %s` to load by jobs", ModeStorageWrite, ModeLoad)
		f.require(c.Endpoints.Storage == bigquery.DefaultStorageAPI, "`endpoints::storage` has no effect with `mode: %s` and must be left out", ModeStorageWrite)
	case ModeLoad:
		f.require(c.Load.HasValue(), "`load::bucket` must name a Cloud Storage bucket with `mode: %s`, found nothing", ModeLoad)
		f.require(c.Endpoints.Write == bigquery.DefaultWriteAPI, "`endpoints::write` has no effect with `mode: %s` and must be left out", ModeLoad)
	default:
		err := fmt.Errorf("`mode` must be %q or %q, found %q", ModeStorageWrite, ModeLoad, c.Mode)
		if hint := configfile.DidYouMean(c.Mode, []string{ModeStorageWrite, ModeLoad}); hint != "" {
			err = fmt.Errorf("%w (%s)", err, hint)
		}
		*f = append(*f, err)
	}
}
