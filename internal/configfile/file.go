package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxSize bounds a file, in bytes: far above what people write, far below what
// would hurt.
const MaxSize = 16 << 20

// Source is a file and how to read it.
type Source[T any] struct {
	Path   string
	Strict bool // faults of entries are errors

	// Parse fails only if nothing of the file is usable.
	Parse func(data []byte) (T, []Warning, error)
}

// Load reads the file. Without strictness an error means that nothing of it is
// usable; with it, that something is not.
func (s Source[T]) Load() (T, []Warning, error) {
	data, err := read(s.Path)
	if err != nil {
		var none T
		return none, nil, err
	}
	return s.parse(data)
}

func (s Source[T]) parse(data []byte) (T, []Warning, error) {
	value, warnings, err := s.Parse(data)
	if err != nil {
		var none T
		return none, nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	if s.Strict && len(warnings) > 0 {
		return value, nil, asErrors(s.Path, warnings)
	}
	return value, warnings, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file: a relative path starts where the collector was started", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // a pipe would block for ever
		return nil, fmt.Errorf("%s: must be a regular file, found %s", path, info.Mode().Type())
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
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: must be at most %d bytes, found more", path, MaxSize)
	}
	return data, nil
}
