// Package durable writes small files that survive a power loss: readers find the complete old
// contents or the complete new ones.
//
// It injects no faults: packages that test theirs step by step pass a File of their own.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// File is a file that was just created.
type File interface {
	io.WriteCloser
	Sync() error
}

// Write writes data to f, syncs it and closes it. The name of the file is not durable yet.
func Write(f File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Replace replaces the contents of the file at path in one step. Only one process at a time can
// replace a file: the temporary file has a fixed name.
func Replace(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	return replace(path, f, data)
}

// ReplaceShared is Replace for a file that several processes can replace at once.
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

// SyncDir makes the names in a directory durable. It does nothing on Windows, which neither
// supports nor needs it.
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
