package table

import (
	"time"

	"github.com/corehour/corehour/internal/warehouse"
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

// DefaultGrace is the default of Grace.
const DefaultGrace = 10 * time.Minute

func (o *Options) intake() warehouse.IntakeOptions {
	return warehouse.IntakeOptions{Late: o.Late, Future: o.Future, RememberFor: o.RememberFor, RememberMax: o.RememberMax, Now: o.Now}
}

func (o Options) withDefaults() (Options, error) {
	in, err := o.intake().WithDefaults()
	o.Late, o.Future, o.RememberFor, o.RememberMax, o.Now = in.Late, in.Future, in.RememberFor, in.RememberMax, in.Now
	err = multierr.Append(err, warehouse.DefaultDuration(&o.Grace, "Grace", DefaultGrace))
	if o.disk == nil {
		o.disk = osDisk{}
	}
	return o, err
}
