package methodfile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
)

// Watch follows a method file. It compares the content, not the time of change: a copy may
// preserve the time, and a quick second write may not alter it. It must be used by one goroutine
// at a time.
type Watch struct {
	Path   string
	Strict bool // a file with faults is refused
	Logf   func(format string, args ...any)
	begun  bool
	judged [sha256.Size]byte // the content parsed last
	seen   [sha256.Size]byte // another content, read once: it may still be being written
	fault  string            // the last error, which is returned only once
}

// Next reads the file. It returns it at the first call, and later if it has changed and two
// consecutive reads gave the same content; else nil. An error is returned once, until the
// content is good again.
func (w *Watch) Next() (file *File, err error) {
	first := !w.begun
	w.begun = true
	data, err := w.read()
	if err == nil {
		sum := sha256.Sum256(data)
		if !first && (sum == w.judged || sum != w.seen) {
			w.seen = sum
			return nil, nil
		}
		w.judged, w.seen = sum, sum
		file, err = w.parse(data)
	}
	switch {
	case err == nil:
		w.fault = ""
	case err.Error() == w.fault:
		err = nil
	default:
		w.fault = err.Error()
	}
	return file, err
}

// read refuses files that are not regular: reading a pipe may never end.
func (w *Watch) read() ([]byte, error) {
	info, err := os.Stat(w.Path)
	if err != nil {
		return nil, fmt.Errorf("method file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("method file %s: must be a regular file, found %s", w.Path, info.Mode().Type())
	}
	f, err := os.Open(w.Path)
	if err != nil {
		return nil, fmt.Errorf("method file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("method file: %w", err)
	case len(data) > MaxSize:
		return nil, fmt.Errorf("method file %s: must be at most %d bytes, found %d", w.Path, MaxSize, max(info.Size(), int64(len(data))))
	}
	return data, nil
}

func (w *Watch) parse(data []byte) (*File, error) {
	file, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("method file %s: %w", w.Path, err)
	}
	if w.Strict && len(file.Faults) > 0 {
		return nil, fmt.Errorf("method file %s: %s", w.Path, strings.Join(file.Faults, "; "))
	}
	for _, fault := range file.Faults {
		w.Logf("method file %s: %s", w.Path, fault)
	}
	return file, nil
}
