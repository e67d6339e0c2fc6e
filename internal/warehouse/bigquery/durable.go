package bigquery

import (
	"errors"
	"os"
	"path/filepath"
)

// syncFile waits until a file is on disk. Tests replace it to avoid the wait.
var syncFile = (*os.File).Sync

// replaceDurably replaces a file in one step: readers see the old contents or the new ones.
func replaceDurably(path string, data []byte) error {
	if err := createDurably(path+tmpSuffix, data); err != nil {
		return err
	}
	if err := os.Rename(path+tmpSuffix, path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

const tmpSuffix = ".tmp"

// createDurably writes a file to disk. A crash may still lose its name: see syncDirectory.
func createDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = syncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFile(dir), dir.Close())
}
