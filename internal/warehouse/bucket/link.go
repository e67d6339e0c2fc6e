package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/internal/durable"
)

// link makes a file of which there was none, whole, durable and at once: a name for
// a finished one. (The driver for directories looks first and renames then, and two
// processes may both find nothing.)
func link(ctx context.Context, path string, from io.Reader) error {
	dir := filepath.Dir(path)
	tmp, err := writeTemporary(dir, ".*.tmp", func(f *os.File) error {
		if _, err := io.Copy(f, from); err != nil {
			return err
		}
		return f.Chmod(0o644)
	})
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Link(tmp, path); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	// The directory may be new, too.
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(filepath.Dir(dir)))
}

// writeTemporary makes a file in a directory, whose contents are on disk when it returns. The caller
// gives it another name or removes it.
func writeTemporary(dir, pattern string, write func(*os.File) error) (name string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}
