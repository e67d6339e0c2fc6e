package bigquery

import (
	"os"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

// common is what a Writer and a Loader have in common: a directory of their own, and what
// they remember of items.
type common struct {
	opts     Options
	intake   *warehouse.Intake
	lockFile *os.File // nil once closed
}

// Committed reports whether an item is stored, or spooled to be loaded, and still remembered.
func (c *common) Committed(id string) bool { return c.intake.Committed(id) }

// Remembered is as table.Writer's.
func (c *common) Remembered() (runs int, dropped int64) { return c.intake.Remembered() }

func (c *common) now() time.Time { return c.opts.Intake.Now() }

func (c *common) fail(op string, kind, err error) *warehouse.Error {
	return &warehouse.Error{Op: op, Path: c.opts.Dataset.table(), Kind: kind, Err: err}
}
