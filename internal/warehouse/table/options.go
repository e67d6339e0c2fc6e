package table

import (
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/warehouse"
)

// Options are the options of a Writer or a Maintainer. Zero values select the defaults.
type Options struct {
	// Limits of the rows that a Writer accepts and of the ids it remembers, see warehouse.IntakeOptions.
	Late        time.Duration
	Future      time.Duration
	RememberFor time.Duration
	RememberMax int
	// Grace is how long files and manifests stay on disk after a commit removed them, so that a reader
	// that has just resolved them can still open them.
	Grace time.Duration
	// MaxBytes is the maximum size of the warehouse, MinFree the minimum free space of the file system in
	// bytes. Beyond either limit Write fails with ErrFull. 0 disables a limit.
	MaxBytes int64
	MinFree  int64
	// Now returns the present time.
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
