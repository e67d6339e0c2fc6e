package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/regression/output"
)

// errAllHeld means that another process holds every prefix of a bucket.
var errAllHeld = errors.New("every prefix is held: running collectors maintain their own")

// errOfServiceLeft means that skipped prefixes can contain rows of the service.
var errOfServiceLeft = errors.New("the skipped prefixes still hold rows of the service: stop their collectors, or wait until they are free, and repeat the command")

// inBucket maintains the prefixes of a bucket without an owner, one after the other. A failing prefix does
// not stop the others.
func (c *compactCall) inBucket(ctx context.Context, stderr io.Writer) (*compactReport, error) {
	all := &compactReport{Result: &maintain.Result{Steps: []maintain.Step{}}}
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
		var report *maintain.Result
		var failed error // failure of the work itself; completed steps are stored
		err := bucket.Maintain(ctx, b, name, cache, c.cacheBytes, func(directory string, m *bucket.Mirror) error {
			job := c.job
			job.Root, job.Fetch, job.FetchBytes = directory, m.Fetch, m.FetchBytes()
			fmt.Fprintf(stderr, "corehour compact: %s\n", output.Printable(m.Address()))
			report, failed = c.runJob(ctx, &job)
			if errors.Is(failed, warehouse.ErrEmpty) || errors.Is(failed, warehouse.ErrMissing) {
				failed = nil
			}
			return nil
		})
		if err == nil {
			all.Join(report)
		} else if report != nil && len(report.Steps) > 0 && !c.job.DryRun {
			err = fmt.Errorf("the work may not be stored: %w", err)
		}
		errs = append(errs, failed)
		if errors.Is(err, bucket.ErrTaken) {
			left := skippedPrefix{b.Store(name).Address(), err.Error()}
			printError(stderr, "compact", errors.New(left.String()))
			all.LeftAlone = append(all.LeftAlone, left)
			continue
		}
		done++
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	if c.ofService() && len(all.LeftAlone) > 0 {
		errs = append(errs, errOfServiceLeft)
	}
	if err := errors.Join(errs...); err != nil || done > 0 {
		return all, err
	}
	if len(all.LeftAlone) == 0 {
		return all, &warehouse.Error{Op: "open", Path: b.String(), Kind: warehouse.ErrMissing, Hint: "there is no prefix of a collector in it"}
	}
	return all, errAllHeld
}
