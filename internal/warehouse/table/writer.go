package table

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Writer is the single writer of a warehouse. Its methods can be called concurrently; writes are
// serialised.
type Writer struct {
	committer

	intake *warehouse.Intake

	mu      sync.Mutex
	encoder *parquet.Encoder
	// sequence is the highest file number that this writer has used, committed or not. No number is used
	// twice.
	sequence int64
	recovery Recovery
	// doubtful holds the items of a write whose outcome is unknown.
	doubtful []string
}

// NewWriter opens or creates the warehouse at root for writing. It completes or undoes writes that a crash
// interrupted, see Recovered. It returns an *Error of kind ErrLocked if another process is the writer.
func NewWriter(root string, opts Options) (*Writer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, &warehouse.Error{Op: "open writer", Path: root, Err: err}
	}
	intake, err := warehouse.NewIntake(opts.intake())
	if err != nil {
		return nil, &warehouse.Error{Op: "open writer", Path: root, Err: err}
	}
	if err := opts.disk.mkdir(filepath.Join(root, manifestDir)); err != nil {
		return nil, warehouse.DiskError("create directory", root, err)
	}
	lockFile, err := warehouse.LockFile(root, writerLock, oneWriter)
	if err != nil {
		return nil, err
	}
	w := &Writer{committer: committer{root: root, opts: opts, lockFile: lockFile}, intake: intake, encoder: parquet.NewEncoder()}
	if err := w.recover(); err != nil {
		return nil, multierr.Append(err, lockFile.Close())
	}
	return w, nil
}

// Write commits all items or none: on success every row is in a file that readers see, and every id is
// remembered. It skips items whose id, or one of whose Folds, is already committed, so repeating a Write
// is always safe.
//
// Rows that cannot be stored are refused individually, and the others are written. The error then contains
// a *RowError for each such item (see RowErrors). Any other error is an *Error and means that nothing was
// written, except if it is of kind ErrUnknown: then the outcome is unknown, and only writing the same
// items again with this writer can resolve it.
func (w *Writer) Write(ctx context.Context, items []methodspan.Item) (warehouse.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return warehouse.Result{}, &warehouse.Error{Op: "write", Path: w.root, Kind: warehouse.ErrClosed}
	}
	// These come first, because any other error means that nothing was stored.
	if err := w.keepLock(); err != nil {
		return warehouse.Result{}, err
	}
	if err := w.resolveUnknown(); err != nil {
		return warehouse.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return warehouse.Result{}, &warehouse.Error{Op: "write", Path: w.root, Err: err}
	}
	now := w.opts.Now()
	for {
		w.intake.SetFloor(w.state.Floor)
		b, res, refused := w.intake.Gather(items)
		if len(b.Rows) > 0 {
			err := w.checkDiskLimit()
			if err == nil {
				err = w.commit(ctx, &b, now, &res)
			}
			if errors.Is(err, errExpired) {
				continue // the state now has the dropped date, so Gather refuses its rows
			}
			if errors.Is(err, warehouse.ErrUnknown) {
				w.doubtful = b.IDs
			}
			if err != nil {
				return warehouse.Result{Generation: w.state.Generation}, err
			}
		}
		w.intake.Remember(b.IDs, now)
		res.Generation = w.state.Generation
		return res, multierr.Combine(refused...)
	}
}

const oneWriter = "one directory has one writer: stop the other one or give this one a `path` of its own"

// keepLock locks the directory again if its lock file was removed. It returns an error while another process
// holds the new one.
func (w *Writer) keepLock() error {
	if warehouse.Held(w.lockFile) == nil {
		return nil
	}
	w.unsettled = true // the other process may have committed, and recovered files of this one
	f, err := warehouse.LockFile(w.root, writerLock, "the lock file was removed while this process held it; "+oneWriter)
	if err != nil {
		if w.doubtful != nil {
			return &warehouse.Error{Op: "settle the last commit", Path: w.root, Kind: warehouse.ErrUnknown, Items: w.doubtful, Err: err}
		}
		return err
	}
	_ = w.lockFile.Close() // of a file without a name
	w.lockFile = f
	return nil
}

// Admit reports whether the id of an item of a sender can be remembered once it is stored. It returns
// false for a new process that finds no room.
func (w *Writer) Admit(id, sender string) bool { return w.intake.Admit(id, sender) }

// Remembered returns the number of runs of ids that are remembered to recognise repeats, and the number of
// runs that were forgotten early because there were too many.
func (w *Writer) Remembered() (runs int, dropped int64) { return w.intake.Remembered() }

// Committed reports whether an item is committed and still remembered. It does not wait for a write in
// progress.
func (w *Writer) Committed(id string) bool { return w.intake.Committed(id) }

// Recovered returns the leftovers of a crash that NewWriter found.
func (w *Writer) Recovered() Recovery { return w.recovery }

// Close releases the directory. It can be called more than once.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return nil
	}
	err := w.lockFile.Close()
	w.lockFile = nil
	if err != nil {
		return &warehouse.Error{Op: "unlock", Path: w.root, Err: err}
	}
	return nil
}
