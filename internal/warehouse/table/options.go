package table

import (
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/warehouse"
)

// Options of a Writer and of a Maintainer. Zero values stand for the defaults.
type Options struct {
	// What a Writer accepts and remembers, see warehouse.IntakeOptions.
	Late        time.Duration
	Future      time.Duration
	RememberFor time.Duration
	RememberMax int
	// Grace is how long files and manifests stay after a commit dropped them,
	// so that a reader that has just resolved them can still open them.
	Grace time.Duration
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
