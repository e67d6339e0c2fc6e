package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/corehour/corehour/internal/bucket"
	"github.com/corehour/corehour/internal/lake"
	"github.com/corehour/corehour/internal/parquet"
	"github.com/corehour/corehour/regression/output"
)

// errAllHeld means that running collectors look after all prefixes of a bucket.
var errAllHeld = errors.New("every prefix has a collector, which looks after it by itself")

// inBucket looks after the prefixes of a bucket that no collector has, one after the
// other. One that fails does not keep the others from being looked after.
func (c *compactCall) inBucket(ctx context.Context, stderr io.Writer) (*lake.Report, error) {
	all := &lake.Report{Steps: []lake.Step{}}
	cache, err := bucket.DefaultCacheRoot()
	if err != nil {
		return all, err
	}
	b, err := bucket.Open(ctx, c.job.Root)
	if err != nil {
		return all, fmt.Errorf("--warehouse: %w", err)
	}
	defer b.Close()
	names, err := b.Prefixes(ctx)
	if err != nil {
		return all, fmt.Errorf("--warehouse: %w", err)
	}
	var errs []error
	done := 0
	for _, name := range names {
		if has, err := b.Store(name).InUse(ctx); err != nil || !has {
			errs = append(errs, err)
			continue
		}
		err := bucket.Maintain(ctx, b, name, cache, c.cacheBytes, func(directory string, m *bucket.Mirror) error {
			job := c.job
			job.Root, job.Fetch, job.FetchBytes = directory, m.Fetch, m.FetchBytes()
			fmt.Fprintf(stderr, "corehour compact: %s\n", output.Printable(m.Address()))
			report, err := c.run(ctx, &job)
			all.Steps = append(all.Steps, report.Steps...)
			all.Removed += report.Removed
			all.Bytes += report.Bytes
			all.Doomed += report.Doomed
			if errors.Is(err, parquet.ErrEmpty) || errors.Is(err, parquet.ErrMissing) {
				return nil
			}
			return err
		})
		if errors.Is(err, bucket.ErrTaken) {
			printError(stderr, "compact", fmt.Errorf("left alone: %w", err))
			continue
		}
		done++
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(errs...); err != nil || done > 0 {
		return all, err
	}
	if len(names) == 0 {
		return all, &parquet.Error{Op: "open", Path: b.String(), Kind: parquet.ErrMissing, Hint: "there is no prefix of a collector in it"}
	}
	return all, errAllHeld
}
