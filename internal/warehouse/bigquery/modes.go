package bigquery

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/internal/warehouse"
)

// A directory can change its mode once the work of the other mode is finished. The ids that the
// other mode remembers are not taken over.

// checkNothingSpooled fails if files wait for load jobs.
func checkNothingSpooled(dir string) error {
	if !anyExists(dir, loadJournalName, loadStateName) {
		return nil
	}
	intake, err := warehouse.NewIntake(warehouse.IntakeOptions{})
	if err != nil {
		return err
	}
	b, err := openLoadJournal(dir, intake)
	if err != nil {
		return err
	}
	if err := b.file.Close(); err != nil {
		return err
	}
	if len(b.files) == 0 {
		return nil
	}
	return otherModeError(dir, "load", fmt.Sprintf("%d rows wait there for load jobs", b.rows))
}

// checkNothingPending fails if the outcome of a request is unknown.
func checkNothingPending(dir string) error {
	if !anyExists(dir, journalName, stateName) {
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
	if j.openIntent == nil {
		return nil
	}
	return otherModeError(dir, "storage_write", "it is not known what became of the last request")
}

// anyExists reports whether one of the files exists in dir.
func anyExists(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// otherModeError returns the error of a directory that is still in use with another mode.
func otherModeError(dir, mode, why string) error {
	return &warehouse.Error{Op: "open", Path: dir, Err: fmt.Errorf("the directory was used with `mode: %s`, and %s", mode, why),
		Hint: "start once more in that mode, or give this one a directory of its own"}
}
