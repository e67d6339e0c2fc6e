package bigquery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

// LoadOptions say how rows travel by load jobs. Zero values stand for the
// defaults.
type LoadOptions struct {
	// Bucket and Prefix are where files are put for the jobs.
	Bucket string
	Prefix string
	// Interval is the time from one job to the next.
	Interval time.Duration
	// SpoolBytes is how much may wait on the local disk. Beyond it a Write fails
	// with ErrFull.
	SpoolBytes int64
	// MinFree is how many bytes the file system must have left; below it a Write
	// fails with ErrFull. 0 is no limit.
	MinFree int64
	// Jobs is how many may run at the same time.
	Jobs int

	// pollEvery and retryAfter are shorter in tests; closeWithin too.
	pollEvery   time.Duration
	retryAfter  time.Duration
	closeWithin time.Duration
	// free tells what the file system has left.
	free func(dir string) (bytes int64, known bool)
	// byHand leaves it to a test to call Round.
	byHand bool
	// step is given what has just been done, for tests that stop there as a crash
	// does.
	step func(what string)
}

// Defaults of LoadOptions.
const (
	DefaultLoadPrefix   = "corehour"
	DefaultLoadInterval = 5 * time.Minute
	DefaultSpoolBytes   = 1 << 30
	DefaultLoadJobs     = 4
)

// MinLoadInterval keeps one loader within the 1,500 jobs a day that a table takes.
const MinLoadInterval = time.Minute

// filesPerJob bounds the list of a job's files, of which the service takes 10,000.
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
