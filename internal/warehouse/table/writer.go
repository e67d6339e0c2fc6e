package table

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Writer is the one writer of a warehouse. Its methods may be called
// concurrently; writes happen one after the other.
type Writer struct {
	committer

	intake *warehouse.Intake

	mu       sync.Mutex
	lockFile *os.File // nil once closed
	encoder  *parquet.Encoder
	// sequence is the highest file number this writer has used, committed or
	// not: a number is never used twice.
	sequence int64
	recovery Recovery
	// doubtful are the items of a write whose outcome is not known.
	doubtful []string
}

// NewWriter opens or creates the warehouse at root for writing. It finishes or
// undoes what a crash left behind, see Recovered. It fails with an *Error, of
// kind ErrLocked if another process writes there.
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
	lockFile, err := warehouse.LockFile(root, writerLock, "one directory has one writer: stop the other one or give this one a `path` of its own")
	if err != nil {
		return nil, err
	}
	w := &Writer{committer: committer{root: root, opts: opts}, intake: intake, lockFile: lockFile, encoder: parquet.NewEncoder()}
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
func (w *Writer) Write(ctx context.Context, items []methodspan.Item) (warehouse.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return warehouse.Result{}, &warehouse.Error{Op: "write", Path: w.root, Kind: warehouse.ErrClosed}
	}
	// First of all: any other error says that nothing is stored.
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
				continue // the state says so now, and gather goes by it
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

// Remembered tells how many runs of ids are kept to recognise repeats, and how
// many were forgotten because there were too many of them.
func (w *Writer) Remembered() (runs int, dropped int64) { return w.intake.Remembered() }

// Committed reports whether an item is committed and still remembered. It does
// not wait for a write that is under way.
func (w *Writer) Committed(id string) bool { return w.intake.Committed(id) }

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
		return &warehouse.Error{Op: "unlock", Path: w.root, Err: err}
	}
	return nil
}
