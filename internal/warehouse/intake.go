package warehouse

import (
	"fmt"
	"math"
	"sync"
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
)

// Intake decides for a store which items are repeats, which rows are refused, and which ids
// are remembered. Its methods may be called concurrently but for SetFloor, Gather and Remember.
type Intake struct {
	opts  IntakeOptions
	floor string

	mu  sync.RWMutex
	ids idLog
}

// IntakeOptions are the options of an Intake. Zero values stand for the defaults.
type IntakeOptions struct {
	// Late is how old a row may be. Older ones are refused: a date that
	// retention is about to drop would make them vanish without a trace.
	Late time.Duration
	// Future is how far ahead of this machine's clock a row may start.
	Future time.Duration
	// RememberFor and RememberMax bound the ids of committed items that are
	// kept to recognise repeats. RememberMax counts runs of ids: all batches of
	// one process, in order, are one. Beyond either bound the oldest are
	// forgotten and a repeat of them is stored twice.
	RememberFor time.Duration
	RememberMax int
	// Now is the clock.
	Now func() time.Time
}

// Defaults of IntakeOptions.
const (
	DefaultLate        = 30 * 24 * time.Hour
	DefaultFuture      = 24 * time.Hour
	DefaultRememberFor = 24 * time.Hour
	DefaultRememberMax = 262_144
)

// WithDefaults returns the options with defaults in the place of zero values.
func (o IntakeOptions) WithDefaults() (IntakeOptions, error) {
	errs := multierr.Combine(
		DefaultDuration(&o.Late, "Late", DefaultLate),
		DefaultDuration(&o.Future, "Future", DefaultFuture),
		DefaultDuration(&o.RememberFor, "RememberFor", DefaultRememberFor))
	switch {
	case o.RememberMax == 0:
		o.RememberMax = DefaultRememberMax
	case o.RememberMax < pagesPerLog:
		errs = multierr.Append(errs, fmt.Errorf("RememberMax must be at least %d, found %d", pagesPerLog, o.RememberMax))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, errs
}

// DefaultDuration sets an option that is zero, and fails if it is negative.
func DefaultDuration(d *time.Duration, name string, def time.Duration) error {
	switch {
	case *d == 0:
		*d = def
	case *d < 0:
		return fmt.Errorf("%s must be positive, found %s", name, *d)
	}
	return nil
}

// NewIntake returns one that remembers nothing yet.
func NewIntake(opts IntakeOptions) (*Intake, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Intake{opts: opts, ids: idLog{window: opts.RememberFor, max: opts.RememberMax}}, nil
}

// SetFloor sets the first date that retention has left; rows of earlier ones are refused.
func (in *Intake) SetFloor(date string) { in.floor = date }

// Batch is what of the items given is to be stored.
type Batch struct {
	IDs  []string // to be remembered once the rows are stored: of the items and of all they were folded from
	Rows []*methodspan.Row
	// first and last are starts: all others are between them.
	first, last int64
}

// Partitions parts the rows by day. Mostly all are of one, which first and last tell.
func (b *Batch) Partitions() []Partition {
	if day := methodspan.EventDay(b.first); day == methodspan.EventDay(b.last) {
		return []Partition{{dateOfDay(day), b.Rows}}
	}
	return PartitionByDate(b.Rows)
}

// Gather picks the items that are new and the rows that may be stored. The
// errors are *RowErrors.
func (in *Intake) Gather(items []methodspan.Item) (Batch, Result, []error) {
	n := 0
	for i := range items {
		n += len(items[i].Rows)
	}
	b := Batch{Rows: make([]*methodspan.Row, 0, n), first: math.MaxInt64, last: math.MinInt64}
	var res Result
	var refused refusals
	window := in.window()
	mine := IDSet{} // the same item twice in one Write
	for i := range items {
		item := &items[i]
		if fault := checkItem(item); fault != "" {
			refused.addRefusal(item.ID, BadID, len(item.Rows), fault)
			continue
		}
		known := func(id string) bool { return mine.Has(id) || in.Committed(id) }
		settled := 0
		for _, id := range item.Folds {
			if known(id) {
				settled++
			}
		}
		switch {
		case known(item.ID) || settled > 0 && settled == len(item.Folds):
			res.DuplicateItems++
			res.Duplicates = append(res.Duplicates, i)
			res.DuplicateRows += len(item.Rows)
			continue
		case settled > 0:
			refused.addRefusal(item.ID, FoldConflict, len(item.Rows), "some of the items aggregated into it are stored already and can't be taken out of its sums")
			continue
		}
		mine.AddID(item.ID)
		b.IDs = append(b.IDs, item.ID)
		for _, id := range item.Folds {
			mine.AddID(id)
			b.IDs = append(b.IDs, id)
		}
		refused.accept(&b, item, window)
		res.Items++
	}
	res.Refused = refused.byReason
	return b, res, refused.errs
}

func checkItem(item *methodspan.Item) string {
	if fault := checkID(item.ID); fault != "" {
		return fault
	}
	for _, id := range item.Folds {
		if fault := checkID(id); fault != "" {
			return "one of Folds: " + fault
		}
	}
	return ""
}

// Remember notes that items were stored at a time.
func (in *Intake) Remember(ids []string, at time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ids.addIDs(ids, at)
}

// Restore remembers the items of these windows, the oldest first, instead of all others.
func (in *Intake) Restore(windows []ItemWindow) error {
	ids := idLog{window: in.opts.RememberFor, max: in.opts.RememberMax}
	for _, w := range windows {
		if err := ids.addPacked(w.Items, w.Committed); err != nil {
			return fmt.Errorf("items committed at %s: %w", w.Committed, err)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	ids.dropped += in.ids.dropped
	in.ids = ids
	return nil
}

// Committed reports whether an item was stored and is still remembered.
func (in *Intake) Committed(id string) bool {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.ids.has(id)
}

// RememberFor is how long.
func (in *Intake) RememberFor() time.Duration { return in.opts.RememberFor }

// Remembered tells how many runs of ids are kept to recognise repeats, and how
// many were forgotten because there were too many of them.
func (in *Intake) Remembered() (runs int, dropped int64) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.ids.runs, in.ids.dropped
}

// Page is the ids that were stored in one stretch of time, packed.
type Page struct {
	Last time.Time         `json:"last"`
	IDs  map[string]string `json:"ids"`
}

// Pages is all that is remembered, the oldest first, to be kept on disk.
func (in *Intake) Pages() []Page {
	in.mu.RLock()
	defer in.mu.RUnlock()
	var pages []Page
	for _, p := range in.ids.pages {
		pages = append(pages, Page{p.last, p.ids.Pack()})
	}
	return pages
}

// AddPage takes over what Pages gave.
func (in *Intake) AddPage(p Page) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ids.addPacked(p.IDs, p.Last)
}
