package bucket

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

const (
	// scratchLock is held for as long as a command uses a directory; of a cache itself,
	// while one looks after it.
	scratchLock    = "LOCK"
	cacheScratch   = "use/"
	compactScratch = "compact-"
	importScratch  = "import-"
)

// scratch is a directory of one command, which goes when that ends. One whose lock is
// free is of a command that was killed.
type scratch struct {
	path string
	lock *os.File
}

// newScratch makes one below root, and removes what killed commands have left there.
func newScratch(root, kind string) (*scratch, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	s := &scratch{}
	err := exclusively(root, func() error {
		err := sweep(root)
		if err == nil {
			dir, prefix := filepath.Split(kind)
			s.path, err = os.MkdirTemp(filepath.Join(root, dir), prefix)
		}
		if err == nil {
			s.lock, err = warehouse.LockFile(s.path, scratchLock, "")
		}
		return err
	})
	return s, err
}

// remove deletes it. What can't be deleted the next command sweeps.
func (s *scratch) remove() {
	_ = os.RemoveAll(s.path)
	_ = s.lock.Close()
}

// exclusively runs do while no other process looks after the directory.
func exclusively(root string, do func() error) error {
	deadline := time.Now().Add(patience)
	for {
		held, err := warehouse.LockFile(root, scratchLock, "other commands are at work")
		if err == nil {
			return errors.Join(do(), held.Close())
		}
		if !errors.Is(err, warehouse.ErrLocked) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// sweep removes what killed commands have left.
func sweep(root string) error {
	for _, pattern := range []string{cacheScratch + "*", compactScratch + "*", importScratch + "*"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return err
		}
		for _, name := range found {
			dir := filepath.Join(root, filepath.FromSlash(name))
			held, err := warehouse.LockFile(dir, scratchLock, "")
			if err != nil {
				continue // in use
			}
			if err := errors.Join(held.Close(), os.RemoveAll(dir)); err != nil {
				return err
			}
		}
	}
	return nil
}
