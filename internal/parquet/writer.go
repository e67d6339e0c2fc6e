package parquet

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
)

// Writer is the one writer of a warehouse. Its methods may be called
// concurrently; writes happen one after the other.
type Writer struct {
	committer

	idsMu sync.RWMutex
	ids   idLog

	mu       sync.Mutex // taken before idsMu
	lockFile *os.File   // nil once closed
	encoder  *encoder
	// sequence is the highest file number this writer has used, committed or
	// not: a number is never used twice.
	sequence int64
	recovery Recovery
	// doubtful are the items of a write whose outcome is not known.
	doubtful []string
}

// Result says what one Write did.
type Result struct {
	Generation int64 // after the write
	Items      int   // committed by it
	Rows       int
	Files      int
	Bytes      int64
	// DuplicateItems were committed before and skipped, with DuplicateRows.
	// Duplicates are their places in what Write was given.
	DuplicateItems int
	DuplicateRows  int
	Duplicates     []int
	// Refused counts rows that were not stored and never will be.
	Refused map[Reason]int
	// RefusedOf are those of them, by their item, that a service refused (BigQuery). A
	// Write that fails tells of them too if the rest is stored, and no later one does.
	RefusedOf map[string]int
}

// NewWriter opens or creates the warehouse at root for writing. It finishes or
// undoes what a crash left behind, see Recovered. It fails with an *Error, of
// kind ErrLocked if another process writes there.
func NewWriter(root string, opts Options) (*Writer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, &Error{Op: "open writer", Path: root, Err: err}
	}
	if err := opts.disk.mkdir(filepath.Join(root, manifestDir)); err != nil {
		return nil, diskError("create directory", root, err)
	}
	lockFile, err := lock(root, writerLock, "one directory has one writer: stop the other one or give this one a `path` of its own")
	if err != nil {
		return nil, err
	}
	w := &Writer{committer: committer{root: root, opts: opts}, lockFile: lockFile, encoder: newEncoder()}
	if err := w.recover(); err != nil {
		return nil, multierr.Append(err, lockFile.Close())
	}
	return w, nil
}

// Write commits the items it is given, all or none of them: every row in a file
// that readers see, every id remembered. Items whose id, or one of whose Folds,
// is committed already are skipped, so writing again is always safe.
//
// Rows that can't be stored are refused one by one: the error then holds a
// *RowError for each item concerned (see RowErrors) and the rest is written. Any
// other error is an *Error and means that nothing was written, or, if it is of
// kind ErrUnknown, that this is not known: then only writing the same items
// again, with this writer, may settle it.
func (w *Writer) Write(ctx context.Context, items []methodspan.Item) (Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return Result{}, &Error{Op: "write", Path: w.root, Kind: ErrClosed}
	}
	// First of all: any other error says that nothing is stored.
	if err := w.resolveUnknown(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, &Error{Op: "write", Path: w.root, Err: err}
	}
	now := w.opts.Now()
	for {
		var res Result
		var refused refusals
		b := w.gather(items, now, &res, &refused)
		res.Refused = refused.byReason
		if len(b.rows) > 0 {
			err := w.checkDiskLimit()
			if err == nil {
				err = w.commit(ctx, b, now, &res)
			}
			if errors.Is(err, errExpired) {
				continue // the state says so now, and gather goes by it
			}
			if errors.Is(err, ErrUnknown) {
				w.doubtful = b.ids
			}
			if err != nil {
				return Result{Generation: w.state.generation}, err
			}
		}
		w.remember(b.ids, now)
		res.Generation = w.state.generation
		return res, multierr.Combine(refused.errs...)
	}
}

// batch is what one Write is going to commit.
type batch struct {
	ids  []string // of the items and of all they were folded from
	rows []*methodspan.Row
	// first and last are starts: all others are between them.
	first, last int64
}

// dates parts the rows by day. Mostly all are of one, which first and last tell.
func (b *batch) dates() []dateRows {
	if day := methodspan.EventDay(b.first); day == methodspan.EventDay(b.last) {
		return []dateRows{{dateOfDay(day), b.rows}}
	}
	return byDate(b.rows)
}

// gather picks the items that are new and the rows that may be stored.
func (w *Writer) gather(items []methodspan.Item, now time.Time, res *Result, refused *refusals) *batch {
	n := 0
	for i := range items {
		n += len(items[i].Rows)
	}
	b := &batch{rows: make([]*methodspan.Row, 0, n), first: math.MaxInt64, last: math.MinInt64}
	window := w.opts.window(now, w.state.floor)
	mine := idSet{} // the same item twice in one Write
	for i := range items {
		item := &items[i]
		if fault := checkItem(item); fault != "" {
			refused.addRefusal(item.ID, BadID, len(item.Rows), fault)
			continue
		}
		known := func(id string) bool { return mine.has(id) || w.Committed(id) }
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
		mine.addID(item.ID)
		b.ids = append(b.ids, item.ID)
		for _, id := range item.Folds {
			mine.addID(id)
			b.ids = append(b.ids, id)
		}
		refused.accept(b, item, window)
		res.Items++
	}
	return b
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

// Remembered tells how many runs of ids are kept to recognise repeats, and how
// many were forgotten because there were too many of them.
func (w *Writer) Remembered() (runs int, dropped int64) {
	w.idsMu.RLock()
	defer w.idsMu.RUnlock()
	return w.ids.runs, w.ids.dropped
}

// Committed reports whether an item is committed and still remembered. It does
// not wait for a write that is under way.
func (w *Writer) Committed(id string) bool {
	w.idsMu.RLock()
	defer w.idsMu.RUnlock()
	return w.ids.has(id)
}

func (w *Writer) remember(ids []string, now time.Time) {
	w.idsMu.Lock()
	defer w.idsMu.Unlock()
	w.ids.addIDs(ids, now)
}

func (w *Writer) setIDs(ids idLog) {
	w.idsMu.Lock()
	defer w.idsMu.Unlock()
	ids.dropped += w.ids.dropped
	w.ids = ids
}

// Recovered tells what NewWriter found left over from a crash.
func (w *Writer) Recovered() Recovery { return w.recovery }

// Close releases the directory. It may be called more than once.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return nil
	}
	err := w.lockFile.Close()
	w.lockFile = nil
	if err != nil {
		return &Error{Op: "unlock", Path: w.root, Err: err}
	}
	return nil
}
