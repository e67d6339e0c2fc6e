// Package durable writes small files so that they outlive a loss of power: whoever
// reads one finds the old contents or the new, whole.
//
// It keeps no files of its own, and knows nothing of faults: packages that test
// theirs step by step bring a File of their own.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// File is one that was just created.
type File interface {
	io.WriteCloser
	Sync() error
}

// Write makes data the contents of a file and closes it. The file's name is not
// durable yet.
func Write(f File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Replace makes data the contents of the file at path, in one step. One process at a
// time may replace a file.
func Replace(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if err := Write(f, data); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
