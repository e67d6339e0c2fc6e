package bigquery

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/internal/warehouse"
)

// A directory may change its mode once what the other mode began is settled. What
// that one remembers of items it has stored is not taken over.

// nothingSpooled fails if files wait for load jobs.
func nothingSpooled(dir string) error {
	if !anyOf(dir, bookName, bookStateName) {
		return nil
	}
	intake, err := warehouse.NewIntake(warehouse.IntakeOptions{})
	if err != nil {
		return err
	}
	b, err := openBook(dir, intake)
	if err != nil {
		return err
	}
	if err := b.file.Close(); err != nil {
		return err
	}
	if len(b.files) == 0 {
		return nil
	}
	return otherMode(dir, "load", fmt.Sprintf("%d rows wait there for load jobs", b.rows))
}

// nothingPending fails if it is not known what became of a request.
func nothingPending(dir string) error {
	if !anyOf(dir, journalName, stateName) {
		return nil
	}
	intake, err := warehouse.NewIntake(warehouse.IntakeOptions{})
	if err != nil {
		return err
	}
	j, err := openJournal(dir, intake)
	if err != nil {
		return err
	}
	if err := j.file.Close(); err != nil {
		return err
	}
	if j.open == nil {
		return nil
	}
	return otherMode(dir, "storage_write", "it is not known what became of the last request")
}

func anyOf(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func otherMode(dir, mode, why string) error {
	return &warehouse.Error{Op: "open", Path: dir, Err: fmt.Errorf("the directory was used with `mode: %s`, and %s", mode, why),
		Hint: "start once more in that mode, or give this one a directory of its own"}
}
