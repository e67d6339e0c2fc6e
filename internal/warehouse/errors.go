package warehouse

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of errors, for errors.Is.
var (
	// ErrMissing: there is no warehouse at the path.
	ErrMissing = errors.New("no warehouse there")
	// ErrEmpty: a warehouse is there but no row was ever committed.
	ErrEmpty = errors.New("the warehouse has no rows yet")
	// ErrCorrupt: the manifest cannot be read or contradicts itself.
	ErrCorrupt = errors.New("the warehouse is damaged")
	// ErrNewer: a newer program wrote the warehouse. It is not damaged.
	ErrNewer = errors.New("a newer program has written it")
	// ErrLocked: another process writes to the warehouse.
	ErrLocked = errors.New("another process writes to it")
	// ErrFull: the disk, or the quota on it, is full.
	ErrFull = errors.New("no space left")
	// ErrTooLarge: the operation needs more files at once than the directory may hold. Another operation
	// may need fewer.
	ErrTooLarge = errors.New("more than the directory may hold at once")
	// ErrUnknown: the write may or may not be committed. Writing the same items again is safe and resolves
	// this. Giving the items up can lose them.
	ErrUnknown = errors.New("the outcome is unknown")
	// ErrClosed: the writer was closed.
	ErrClosed = errors.New("the writer is closed")
)

// WhenRowsAppear is the hint for a warehouse without rows. Only the collector knows why it writes none.
const WhenRowsAppear = "rows appear some seconds after the collector received the first spans; if none do its log says why, such as a disk that is nearly full"

// Error describes the operation that failed, its path, and the remedy.
type Error struct {
	Op   string // the attempted operation, e.g. "rename file"
	Path string
	Kind error // one of the kinds above, or nil
	Err  error // the cause, may be nil
	Hint string
	// Items are the written items whose outcome is unknown (ErrUnknown); nil means all items of the write.
	// For the others Committed reports the outcome.
	Items []string
}

// Unsettled returns a function that reports whether the outcome of an item is unknown after a write that
// returned err.
func Unsettled(err error) func(id string) bool {
	if !errors.Is(err, ErrUnknown) {
		return func(string) bool { return false }
	}
	var e *Error
	if !errors.As(err, &e) || e.Items == nil {
		return func(string) bool { return true }
	}
	items := make(map[string]bool, len(e.Items))
	for _, id := range e.Items {
		items[id] = true
	}
	return func(id string) bool { return items[id] }
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "warehouse: %s %q", e.Op, e.Path)
	if e.Kind != nil {
		b.WriteString(": " + e.Kind.Error())
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// NewerError reports a schema version that is newer than the program's.
type NewerError struct{ Schema, Known int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("schema version %d is newer than %d, which this program knows", e.Schema, e.Known)
}

// Newer returns an error of kind ErrNewer for a path or an address with the given schema version.
func Newer(op, path string, schema, known int) *Error {
	return &Error{Op: op, Path: path, Kind: ErrNewer, Err: &NewerError{schema, known}, Hint: "use a newer corehour"}
}

// Damaged returns an error for a path or an address: of kind ErrNewer if its cause is a *NewerError, else
// of kind ErrCorrupt.
func Damaged(op, path string, err error) *Error {
	var newer *NewerError
	if errors.As(err, &newer) {
		return Newer(op, path, newer.Schema, newer.Known)
	}
	hint := "restore the file from a backup, or move the directory away and let the collector start a new one"
	if strings.Contains(path, "://") {
		hint = "restore the object from a backup or from an older version of it, or give the collector a `prefix` that is not in use"
	}
	return &Error{Op: op, Path: path, Kind: ErrCorrupt, Err: err, Hint: hint}
}

// DamagedRows returns an error of kind ErrCorrupt for a file of rows, or an object, that is missing or
// differs from the committed one.
func DamagedRows(op, path string, err error) *Error {
	return &Error{Op: op, Path: path, Kind: ErrCorrupt, Err: err,
		Hint: "restore it from a backup under the same name; without one, corehour compact --drop-damaged gives its rows up. corehour check names all damaged files, and questions about other dates are answered"}
}

// DiskError returns an *Error with the kind of a file system error.
func DiskError(op, path string, err error) *Error {
	e := &Error{Op: op, Path: path, Err: err, Hint: "check that the directory exists and is writable for the collector's user"}
	if isFull(err) {
		e.Kind = ErrFull
		e.Hint = "free space on the file system, drop old dates, or move the warehouse"
	}
	return e
}
