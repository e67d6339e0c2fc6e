package parquet

import (
	"fmt"
	"time"

	"go.uber.org/multierr"
)

// Options of a Writer and of a Maintainer. Zero values stand for the defaults.
type Options struct {
	// Late is how old a row may be. Older ones are refused: a date that
	// retention is about to drop would make them vanish without a trace.
	Late time.Duration
	// Future is how far ahead of this machine's clock a row may start.
	Future time.Duration
	// Grace is how long files and manifests stay after a commit dropped them,
	// so that a reader that has just resolved them can still open them.
	Grace time.Duration
	// RememberFor and RememberMax bound the ids of committed items that are
	// kept to recognise repeats. RememberMax counts runs of ids: all batches of
	// one process, in order, are one. Beyond either bound the oldest are
	// forgotten and a repeat of them is stored twice.
	RememberFor time.Duration
	RememberMax int
	// MaxBytes is how large the warehouse may get, MinFree how many bytes the file
	// system must have left. Beyond either a Write fails with ErrFull. 0 is no limit.
	MaxBytes int64
	MinFree  int64
	// Now is the clock.
	Now func() time.Time

	disk disk
}

// Defaults of Options.
const (
	DefaultLate        = 30 * 24 * time.Hour
	DefaultFuture      = 24 * time.Hour
	DefaultGrace       = 10 * time.Minute
	DefaultRememberFor = 24 * time.Hour
	DefaultRememberMax = 262_144
)

func (o Options) withDefaults() (Options, error) {
	var errs error
	duration := func(d *time.Duration, name string, def time.Duration) {
		switch {
		case *d == 0:
			*d = def
		case *d < 0:
			errs = multierr.Append(errs, fmt.Errorf("%s must be positive, found %s", name, *d))
		}
	}
	duration(&o.Late, "Late", DefaultLate)
	duration(&o.Future, "Future", DefaultFuture)
	duration(&o.Grace, "Grace", DefaultGrace)
	duration(&o.RememberFor, "RememberFor", DefaultRememberFor)
	switch {
	case o.RememberMax == 0:
		o.RememberMax = DefaultRememberMax
	case o.RememberMax < pagesPerBook:
		errs = multierr.Append(errs, fmt.Errorf("RememberMax must be at least %d, found %d", pagesPerBook, o.RememberMax))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.disk == nil {
		o.disk = osDisk{}
	}
	return o, errs
}
