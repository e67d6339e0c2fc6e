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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, from)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	// The directory may be new, too.
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(filepath.Dir(dir)))
}
