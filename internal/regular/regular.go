// Package regular reads regular files, and refuses everything else. A pipe under the name of a file would block
// its reader for ever, and a device never end.
package regular

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Open opens a regular file, or a link to one, without waiting.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("want a regular file, found %s", kind(info.Mode()))}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// kind returns a name for the type of a file that is not regular.
func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	case m&os.ModeDevice != 0:
		return "a device"
	}
	return "type " + m.Type().String()
}

// ReadFile reads a regular file of at most most bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("want at most %d bytes, found more", most)}
	}
	return data, err
}
