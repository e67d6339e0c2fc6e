package warehouse

import (
	"fmt"
	"math"
	"sync"
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
)

// Intake decides for a store which items are repeats, which rows are refused, and which ids are
// remembered. Its methods can be called concurrently, except SetFloor, Gather and Remember.
type Intake struct {
	opts  IntakeOptions
	floor string

	mu  sync.RWMutex
	ids idLog
}

// IntakeOptions are the options of an Intake. Zero values select the defaults.
type IntakeOptions struct {
	// Late is the maximum age of a row. Older rows are refused: otherwise retention would soon drop their
	// date, and they would vanish without a trace.
	Late time.Duration
	// Future is the maximum time by which a row can start after the present time of this machine.
	Future time.Duration
	// RememberFor and RememberMax limit the ids of committed items that are remembered to recognise repeats.
	// RememberMax counts runs of ids: all consecutive batches of one process are one run. Ids older than
	// RememberFor are forgotten, and a repeat of them is stored twice. Beyond RememberMax, and of one sender
	// beyond seven eighths of it, Admit refuses new processes, and known ones forget their own oldest ids.
	RememberFor time.Duration
	RememberMax int
	// Now returns the present time.
	Now func() time.Time
}

// Defaults of IntakeOptions.
const (
	DefaultLate        = 30 * 24 * time.Hour
	DefaultFuture      = 24 * time.Hour
	DefaultRememberFor = 24 * time.Hour
	DefaultRememberMax = 262_144
)

// WithDefaults returns the options with zero values replaced by defaults.
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

// DefaultDuration sets *d to def if it is zero, and returns an error if it is negative.
func DefaultDuration(d *time.Duration, name string, def time.Duration) error {
	switch {
	case *d == 0:
		*d = def
	case *d < 0:
		return fmt.Errorf("%s must be positive, found %s", name, *d)
	}
	return nil
}

// NewIntake returns an Intake that remembers no ids yet.
func NewIntake(opts IntakeOptions) (*Intake, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Intake{opts: opts, ids: newIDLog(opts.RememberFor, opts.RememberMax)}, nil
}

// SetFloor sets the first date that retention has not dropped. Rows of earlier dates are refused.
func (in *Intake) SetFloor(date string) { in.floor = date }

// Batch holds the rows and ids of a Write that are to be stored.
type Batch struct {
	IDs  []string // ids to remember once the rows are stored: of the items and of all items folded into them
	Rows []*methodspan.Row
	// first and last are the earliest and the latest start of the rows.
	first, last int64
}

// Partitions splits the rows by day. It is fast if all rows are of one day, which is the usual case.
func (b *Batch) Partitions() []Partition {
	if day := methodspan.EventDay(b.first); day == methodspan.EventDay(b.last) {
		return []Partition{{dateOfDay(day), b.Rows}}
	}
	return PartitionByDate(b.Rows)
}

// Gather selects the new items and the rows that can be stored. The returned errors are *RowErrors.
func (in *Intake) Gather(items []methodspan.Item) (Batch, Result, []error) {
	n := 0
	for i := range items {
		n += len(items[i].Rows)
	}
	b := Batch{Rows: make([]*methodspan.Row, 0, n), first: math.MaxInt64, last: math.MinInt64}
	var res Result
	var refused refusals
	window := in.window()
	mine := IDSet{} // recognises an item that occurs twice in one Write
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

// Admit reports whether the id of an item of a sender can be remembered once it is stored. It returns false
// for a new process that finds no room.
func (in *Intake) Admit(id, sender string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ids.admit(id, sender, in.opts.Now())
}

// Remember records that items were stored at the time at.
func (in *Intake) Remember(ids []string, at time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ids.addIDs(ids, at)
}

// Restore replaces the remembered ids by those of the windows, which are sorted oldest first.
func (in *Intake) Restore(windows []ItemWindow) error {
	ids := newIDLog(in.opts.RememberFor, in.opts.RememberMax)
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

// RememberFor returns how long ids are remembered.
func (in *Intake) RememberFor() time.Duration { return in.opts.RememberFor }

// Remembered returns the number of runs of ids that are remembered to recognise repeats, and the number of
// runs that were forgotten early because there were too many.
func (in *Intake) Remembered() (runs int, dropped int64) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.ids.runs, in.ids.dropped
}

// Page holds the packed ids that were stored in one interval.
type Page struct {
	Last time.Time         `json:"last"`
	IDs  map[string]string `json:"ids"`
}

// Pages returns all remembered ids, oldest first, to be saved on disk.
func (in *Intake) Pages() []Page {
	in.mu.RLock()
	defer in.mu.RUnlock()
	var pages []Page
	for _, p := range in.ids.pages {
		if ids := in.ids.packed(p); ids != nil {
			pages = append(pages, Page{p.last, ids})
		}
	}
	return pages
}

// AddPage adds the ids of a saved page.
func (in *Intake) AddPage(p Page) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ids.addPacked(p.IDs, p.Last)
}
