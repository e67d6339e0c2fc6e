package warehouse

import (
	"context"

	"github.com/corehour/corehour/internal/methodspan"
)

// Store is where rows are written: a directory, a bucket or a table of BigQuery.
type Store interface {
	// Write commits all items or none, and skips those that are committed already. It fails with
	// ErrUnknown if the outcome is not known.
	Write(ctx context.Context, items []methodspan.Item) (Result, error)
	// Committed reports whether an item is committed and still remembered. It does not wait for
	// a write that is under way.
	Committed(id string) bool
	// Remembered tells how many runs of ids are kept to recognise repeats, and how many were
	// forgotten because there were too many of them.
	Remembered() (runs int, dropped int64)
	Close() error
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
