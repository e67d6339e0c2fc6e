package parquet

import (
	"os"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Intake decides for another store what a Writer decides for this one: which
// items are repeats, which rows are refused, which ids are remembered. Its
// methods may be called concurrently but for Gather and Remember.
type Intake struct{ w Writer }

// Batch is what of the items given is to be stored.
type Batch struct {
	IDs  []string // to be remembered once the rows are stored
	Rows []*methodspan.Row
}

// NewIntake uses of the options Late, Future, RememberFor and RememberMax.
func NewIntake(opts Options) (*Intake, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	in := &Intake{}
	in.w.opts = opts
	in.w.ids = idLog{window: opts.RememberFor, max: opts.RememberMax}
	return in, nil
}

// Gather picks the items that are new and the rows that may be stored. The
// errors are *RowErrors.
func (in *Intake) Gather(items []methodspan.Item) (Batch, Result, []error) {
	var res Result
	var refused refusals
	b := in.w.gather(items, in.w.opts.Now(), &res, &refused)
	res.Refused = refused.byReason
	return Batch{b.ids, b.rows}, res, refused.errs
}

// Remember notes that items were stored at a time.
func (in *Intake) Remember(ids []string, at time.Time) { in.w.remember(ids, at) }

// Committed reports whether an item was stored and is still remembered.
func (in *Intake) Committed(id string) bool { return in.w.Committed(id) }

// RememberFor is how long.
func (in *Intake) RememberFor() time.Duration { return in.w.opts.RememberFor }

// Remembered is Writer.Remembered.
func (in *Intake) Remembered() (runs int, dropped int64) { return in.w.Remembered() }

// Page is the ids that were stored in one stretch of time, packed.
type Page struct {
	Last time.Time         `json:"last"`
	IDs  map[string]string `json:"ids"`
}

// Pages is all that is remembered, the oldest first, to be kept on disk.
func (in *Intake) Pages() []Page {
	in.w.idsMu.RLock()
	defer in.w.idsMu.RUnlock()
	var pages []Page
	for _, p := range in.w.ids.pages {
		pages = append(pages, Page{p.last, p.ids.pack()})
	}
	return pages
}

// AddPage takes over what Pages gave.
func (in *Intake) AddPage(p Page) error {
	in.w.idsMu.Lock()
	defer in.w.idsMu.Unlock()
	return in.w.ids.addPacked(p.IDs, p.Last)
}

// LockDirectory makes this process the one that uses a directory, until the file
// is closed. It fails with an *Error of kind ErrLocked if another one does.
func LockDirectory(path string) (*os.File, error) {
	return LockFile(path, writerLock, "one directory has one user: stop the other one or give this one a directory of its own")
}

// LockFile takes a lock of a directory by the name of its file, until that is
// closed. It fails with an *Error of kind ErrLocked if another process holds it;
// hint says what to do then.
func LockFile(directory, name, hint string) (*os.File, error) { return lock(directory, name, hint) }
