package warehouse

import (
	"context"

	"github.com/corehour/corehour/internal/methodspan"
)

// Store stores rows in a directory, a bucket or a BigQuery table.
type Store interface {
	// Write commits all items or none, and skips items that are committed already. It returns ErrUnknown if
	// the outcome is unknown.
	Write(ctx context.Context, items []methodspan.Item) (Result, error)
	// Committed reports whether an item is committed and still remembered. It does not wait for a write in
	// progress.
	Committed(id string) bool
	// Admit reports whether the id of an item of a sender can be remembered once it is stored. It returns
	// false for a new process that finds no room.
	Admit(id, sender string) bool
	// Remembered returns the number of runs of ids that are remembered to recognise repeats, and the number
	// of runs that were forgotten early because there were too many.
	Remembered() (runs int, dropped int64)
	Close() error
}

// Result is the outcome of one Write.
type Result struct {
	Generation int64 // generation after the write
	Items      int   // items committed by the write
	Rows       int
	Files      int
	Bytes      int64
	// DuplicateItems were committed before and skipped, with DuplicateRows. Duplicates holds their indexes
	// in the items passed to Write.
	DuplicateItems int
	DuplicateRows  int
	Duplicates     []int
	// Refused counts permanently refused rows by reason.
	Refused map[Reason]int
	// RefusedOf counts, by item, the rows refused by a service (BigQuery). They are part of Refused. A Write
	// that fails also reports them if its other rows are stored; no later Write reports them again.
	RefusedOf map[string]int
}
