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
	"runtime"
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
// time may replace a file: what a crash leaves next to it is of one name.
func Replace(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	return replace(path, f, data)
}

// ReplaceShared is Replace for a file that several processes may replace at once.
func ReplaceShared(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return replace(path, f, data)
}

func replace(path string, f *os.File, data []byte) error {
	err := Write(f, data)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable. Windows can't do that, nor needs it.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
