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
	// scratchLock is the lock file of a directory. A command holds it while it uses its scratch directory;
	// in the cache directory itself it is held during cleanup.
	scratchLock    = "LOCK"
	cacheScratch   = "use/"
	compactScratch = "compact-"
	importScratch  = "import-"
)

// scratch is the directory of one command, deleted when the command ends. A directory whose lock is free
// belongs to a command that was killed.
type scratch struct {
	path string
	lock *os.File
}

// newScratch creates a scratch directory below root and removes the directories of killed commands.
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

// remove deletes the directory. The next command sweeps files that cannot be deleted now.
func (s *scratch) remove() {
	_ = os.RemoveAll(s.path)
	_ = s.lock.Close()
}

// exclusively runs do while it holds the lock of the directory root. It waits for the lock for at most patience.
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

// sweep removes the directories of killed commands.
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
