package bigquery

import (
	"os"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

// common is the part that Writer and Loader share: their directory and their memory of items.
type common struct {
	opts     Options
	intake   *warehouse.Intake
	lockFile *os.File // nil once closed
}

// Committed reports whether an item is stored, or spooled for a load job, and its id is still
// remembered.
func (c *common) Committed(id string) bool { return c.intake.Committed(id) }

// Admit returns the same as table.Writer.Admit.
func (c *common) Admit(id, sender string) bool { return c.intake.Admit(id, sender) }

// Remembered returns the same as table.Writer.Remembered.
func (c *common) Remembered() (runs int, dropped int64) { return c.intake.Remembered() }

func (c *common) now() time.Time { return c.opts.Intake.Now() }

func (c *common) fail(op string, kind, err error) *warehouse.Error {
	return &warehouse.Error{Op: op, Path: c.opts.Dataset.table(), Kind: kind, Err: err}
}
