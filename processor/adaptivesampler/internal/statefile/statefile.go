// Package statefile keeps a state in a file of its own across restarts.
//
// Its invariant: what Load returns is what one Save was given, whole. The file is
// written aside, synced and renamed, and carries its form's version, its length
// and a checksum, so that a torn, cut or foreign file is recognised. It does
// not know what the state means.
package statefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/internal/durable"
)

const (
	// Version is that of the file's form and of the state's.
	Version = 1

	// MaxSize bounds what is read, in bytes.
	MaxSize = 512 << 20

	magic = "corehour adaptive_sampler state"
)

// Encode puts a header line before a state.
func Encode(state []byte) []byte {
	sum := sha256.Sum256(state)
	header := fmt.Sprintf("%s %d %d %s\n", magic, Version, len(state), hex.EncodeToString(sum[:]))
	return append([]byte(header), state...)
}

// Fault is what is wrong with a file that can be read and is no state: it will
// never be one.
type Fault struct{ Rule string }

func (f *Fault) Error() string { return f.Rule }

func fault(format string, a ...any) error { return &Fault{fmt.Sprintf(format, a...)} }

// Decode returns the state in a file's content. Its errors are Faults.
func Decode(data []byte) ([]byte, error) {
	header, state, ok := bytes.Cut(data, []byte{'\n'})
	if !ok || !bytes.HasPrefix(header, []byte(magic+" ")) {
		return nil, fault("must be a state of adaptive_sampler, found another file")
	}
	var version, size int
	var sum string
	if n, _ := fmt.Sscanf(string(header[len(magic)+1:]), "%d %d %64s", &version, &size, &sum); n < 1 {
		return nil, fault("must have a header with version, length and checksum, found another")
	}
	if version != Version {
		return nil, fault("must have version %d, found %d: it was written by another release", Version, version)
	}
	if size != len(state) {
		return nil, fault("must hold %d bytes, found %d: it is cut or has grown", size, len(state))
	}
	if found := sha256.Sum256(state); sum != hex.EncodeToString(found[:]) {
		return nil, fault("must have the checksum of its header, found another: its content was changed")
	}
	return state, nil
}

// Load reads a state. A file that is not there is fs.ErrNotExist, one that is no
// state a Fault; any other error is about reading.
func Load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would block for ever
		return nil, fmt.Errorf("must be a regular file, found %s", info.Mode().Type())
	}
	if info.Size() > MaxSize {
		return nil, fault("must be at most %d bytes, found %d", MaxSize, info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// Save replaces the state at once: after a crash at any moment the file holds the
// old state or the new one.
func Save(path string, state []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return durable.Replace(path, Encode(state), 0o600)
}

// Refuse moves a file aside that is no state, and returns where to. There is one
// such place: the file refused last stays.
func Refuse(path string) (string, error) {
	to := path + ".refused"
	return to, os.Rename(path, to)
}
