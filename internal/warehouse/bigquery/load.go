package bigquery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

// LoadOptions configures load jobs. Zero values stand for the defaults.
type LoadOptions struct {
	// Bucket and Prefix name the place where files are uploaded for the jobs.
	Bucket string
	Prefix string
	// Interval is the time between two jobs.
	Interval time.Duration
	// SpoolBytes bounds the rows that wait on the local disk. Above it Write fails with ErrFull.
	SpoolBytes int64
	// MinFree is how many bytes the file system must keep free. Below it Write fails with ErrFull.
	// 0 means no limit.
	MinFree int64
	// Jobs bounds the load jobs that run at the same time.
	Jobs int

	// Tests shorten pollEvery, retryAfter and closeWithin.
	pollEvery   time.Duration
	retryAfter  time.Duration
	closeWithin time.Duration
	// free returns the free space of the file system.
	free func(dir string) (bytes int64, known bool)
	// byHand disables background rounds: a test calls Round.
	byHand bool
	// step is called after each step, so that a test can stop there like a crash.
	step func(what string)
}

// Defaults of LoadOptions.
const (
	DefaultLoadPrefix   = "corehour"
	DefaultLoadInterval = 5 * time.Minute
	DefaultSpoolBytes   = 1 << 30
	DefaultLoadJobs     = 4
)

// MinLoadInterval keeps one loader below the limit of 1,500 load jobs per table and day.
const MinLoadInterval = time.Minute

// filesPerJob bounds the files of a job; the service accepts 10,000.
const filesPerJob = 1000

func (o LoadOptions) withDefaults() LoadOptions {
	o.Interval = cmp.Or(o.Interval, DefaultLoadInterval)
	o.SpoolBytes = cmp.Or(o.SpoolBytes, DefaultSpoolBytes)
	o.Jobs = cmp.Or(o.Jobs, DefaultLoadJobs)
	o.pollEvery = cmp.Or(o.pollEvery, 2*time.Second)
	o.retryAfter = cmp.Or(o.retryAfter, 5*time.Second)
	o.closeWithin = cmp.Or(o.closeWithin, 10*time.Second)
	if o.free == nil {
		o.free = warehouse.FreeBytes
	}
	if o.step == nil {
		o.step = func(string) {}
	}
	return o
}

func (o LoadOptions) check() error {
	var errs []error
	if err := CheckBucket(o.Bucket); err != nil {
		errs = append(errs, fmt.Errorf("the bucket: %w", err))
	}
	if err := CheckPrefix(o.Prefix); err != nil {
		errs = append(errs, fmt.Errorf("the prefix: %w", err))
	}
	return errors.Join(errs...)
}
