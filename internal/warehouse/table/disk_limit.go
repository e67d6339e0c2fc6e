package table

import (
	"fmt"

	"github.com/corehour/corehour/internal/warehouse"
)

// checkDiskLimit returns ErrFull while the warehouse is at its limits. Nothing is written then: stored
// rows stay intact and other programs keep their disk space. Maintenance can free space.
func (w *Writer) checkDiskLimit() error {
	fault := w.overLimit()
	if fault == "" {
		return nil
	}
	// Another process may have dropped dates since the last commit.
	if err := w.refresh(); err != nil {
		return err
	}
	if fault = w.overLimit(); fault == "" {
		return nil
	}
	return &warehouse.Error{Op: "write", Path: w.root, Kind: warehouse.ErrFull, Hint: fault + "; free space on the file system, or let maintenance drop the oldest dates"}
}

func (w *Writer) overLimit() string {
	if n := w.state.bytes(); w.opts.MaxBytes > 0 && n >= w.opts.MaxBytes {
		return fmt.Sprintf("the warehouse has %d bytes, its limit is %d", n, w.opts.MaxBytes)
	}
	if w.opts.MinFree > 0 {
		if free, known := warehouse.FreeBytes(w.root); known && free < w.opts.MinFree {
			return fmt.Sprintf("the file system has %d bytes left, %d must stay free", free, w.opts.MinFree)
		}
	}
	return ""
}
