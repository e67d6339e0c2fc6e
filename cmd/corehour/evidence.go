package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
)

// evidenceFlags holds the flags for time buckets of a comparison.
type evidenceFlags struct{ warmUp, bucket string }

func (e *evidenceFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&e.warmUp, "warm-up", "", "`duration` after its start that is left out of every process (default: by evidence until it is steady, by threshold none)")
	f.StringVar(&e.bucket, "slot", "", "`duration` of a time bucket (by evidence; default: 1m, shorter if the run is short)")
}

func (e *evidenceFlags) check(f *pflag.FlagSet, o *pairs.Options) error {
	var errs []error
	var err error
	if o.WarmUp = evidence.Learn; e.warmUp != "" {
		errs = append(errs, e.checkWarmUp(o))
	}
	if given(f, "slot") {
		if o.Bucket, err = parseDuration("--slot", e.bucket); err == nil && o.Bucket < time.Second {
			err = fmt.Errorf("--slot: want 1s or more, found %q", e.bucket)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (e *evidenceFlags) checkWarmUp(o *pairs.Options) (err error) {
	o.WarmUp, err = parseSpan("--warm-up", e.warmUp)
	return err
}
