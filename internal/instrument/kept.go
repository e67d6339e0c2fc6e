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

// A build reads the files of its overlay again and again, and few of them are others than those of the
// build before: so they stay. Creating and deleting hundreds of files takes a file system longer than
// finding out what belongs into them.
const (
	mostKept = 20000
	inUse    = time.Hour // a file that was used since may be another build's
)

// kept is a directory of files that are named by what they hold.
type kept struct {
	dir       string
	most      int
	temporary bool // the user has no directory that can be written to
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

// file returns the path of a file with this text. Two files for which the program has different
// names are two.
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

// has reports whether the file is there and whole, and keeps it from being removed.
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

// write replaces the file at once: another build may be reading it. It need not be on the disk, as what
// package durable writes: what is read is compared.
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

// close removes the files that were not used for longest, if there are more than the most.
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
