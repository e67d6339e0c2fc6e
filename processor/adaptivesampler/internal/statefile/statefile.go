// Package statefile keeps a state across restarts, in a file that holds nothing else.
//
// Invariant: Load returns the complete state of one Save. Save writes to a temporary file, syncs it and renames
// it. The file contains the version of its format, its length and a checksum, so that truncated, damaged or
// foreign files are detected. The package does not interpret the state.
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
	// Version is the version of the file format and of the state.
	Version = 1

	// MaxSize bounds the bytes read.
	MaxSize = 512 << 20

	magic = "corehour adaptive_sampler state"
)

// Encode returns the state with a header line before it.
func Encode(state []byte) []byte {
	sum := sha256.Sum256(state)
	header := fmt.Sprintf("%s %d %d %s\n", magic, Version, len(state), hex.EncodeToString(sum[:]))
	return append([]byte(header), state...)
}

// Fault is the error for a readable file that is not a valid state. Retrying cannot help.
type Fault struct{ Rule string }

func (f *Fault) Error() string { return f.Rule }

func fault(format string, a ...any) error { return &Fault{fmt.Sprintf(format, a...)} }

// Decode returns the state in a file's content. Its errors are of type Fault.
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

// Load reads a state. The error is fs.ErrNotExist for a missing file and a Fault for an invalid one. Any other
// error is a read error.
func Load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would block forever
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

// Save replaces the state atomically: after a crash the file holds either the old or the new state.
func Save(path string, state []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return durable.Replace(path, Encode(state), 0o600)
}

// Refuse renames an invalid file and returns its new path. The path is always the same, so only the last refused
// file is kept.
func Refuse(path string) (string, error) {
	to := path + ".refused"
	return to, os.Rename(path, to)
}
