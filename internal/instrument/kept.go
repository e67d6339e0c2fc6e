package instrument

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The files of an overlay are kept between builds, because few of them change. For a file system, creating
// and deleting hundreds of files takes longer than computing their contents.
const (
	mostKept = 20000
	inUse    = time.Hour // a file used more recently can belong to a build that is running
)

// kept is a directory of files that are named by a hash of their contents.
type kept struct {
	dir       string
	most      int
	temporary bool // the user has no writable directory
}

func openKept() (*kept, error) {
	if root, err := os.UserCacheDir(); err == nil {
		k := &kept{dir: filepath.Join(root, "corehour", "go"), most: mostKept}
		if os.MkdirAll(k.dir, 0o700) == nil && k.writable() {
			return k, nil
		}
	}
	dir, err := os.MkdirTemp("", "corehour-go-")
	if err != nil {
		return nil, err
	}
	return &kept{dir: dir, most: mostKept, temporary: true}, nil
}

func (k *kept) writable() bool {
	f, err := os.CreateTemp(k.dir, "new-*")
	return err == nil && errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// file returns the path of a file with this text. The program's name of the file is part of the hash.
func (k *kept) file(name string, text []byte) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00", name)
	h.Write(text)
	path := filepath.Join(k.dir, hex.EncodeToString(h.Sum(nil)[:16])+filepath.Ext(name))
	if k.has(path, text) {
		return path, nil
	}
	if err := k.write(path, text); err != nil {
		return "", fmt.Errorf("%w; XDG_CACHE_HOME names another directory for rewritten files", err)
	}
	return path, nil
}

// has reports whether the file exists with the whole text, and marks it as used.
func (k *kept) has(path string, text []byte) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(text)) {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()).Abs() > inUse/2 && os.Chtimes(path, now, now) != nil {
		return false
	}
	held, err := os.ReadFile(path)
	return err == nil && bytes.Equal(held, text)
}

// write replaces the file atomically, because another build can be reading it. It does not sync, as
// package durable does: the contents are compared before each use.
func (k *kept) write(path string, text []byte) error {
	f, err := os.CreateTemp(k.dir, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// close removes the least recently used files beyond the maximum.
func (k *kept) close() error {
	if k.temporary {
		return os.RemoveAll(k.dir)
	}
	files, err := os.ReadDir(k.dir)
	if err != nil || len(files) <= k.most {
		return err
	}
	var old []fs.FileInfo
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()).Abs() > inUse {
			old = append(old, info)
		}
	}
	slices.SortFunc(old, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range old[:min(len(old), len(files)-k.most/2)] {
		err = errors.Join(err, os.Remove(filepath.Join(k.dir, info.Name())))
	}
	return err
}
