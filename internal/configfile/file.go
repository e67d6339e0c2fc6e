package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxSize bounds a file, in bytes: far above files that people write, and harmless in memory.
const MaxSize = 16 << 20

// Source is a file and its parser.
type Source[T any] struct {
	Key    string // of the configuration or flag that names the file
	Path   string
	Strict bool // warnings are errors

	// Parse returns an error only if nothing of the file is usable.
	Parse func(data []byte) (T, []Warning, error)
}

// Load reads the file. An error means that nothing of it is usable or, if Strict is set, that
// some part is not.
func (s Source[T]) Load() (T, []Warning, error) {
	data, err := s.read()
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
		return none, nil, fmt.Errorf("%s: %w", s.name(), err)
	}
	if s.Strict && len(warnings) > 0 {
		return value, nil, asErrors(s.name(), warnings)
	}
	return value, warnings, nil
}

// name returns the key and the path, with which every message about the file begins.
func (s Source[T]) name() string { return fmt.Sprintf("`%s` %s", s.Key, Quote(s.Path)) }

func (s Source[T]) read() ([]byte, error) {
	info, err := os.Stat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if from, err := os.Getwd(); err == nil && !filepath.IsAbs(s.Path) {
			return nil, fmt.Errorf("%s must exist, found no such file: a relative path starts in %s", s.name(), Quote(from))
		}
		return nil, fmt.Errorf("%s must exist, found no such file", s.name())
	case err != nil:
		return nil, fmt.Errorf("%s must be readable, found: %w", s.name(), err)
	case !info.Mode().IsRegular(): // a pipe would block for ever
		return nil, fmt.Errorf("%s must be a regular file, found %s", s.name(), info.Mode().Type())
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("%s must be readable, found: %w", s.name(), err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s must be readable, found: %w", s.name(), err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s must be at most %d bytes, found more", s.name(), MaxSize)
	}
	return data, nil
}
