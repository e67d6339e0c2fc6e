package bigquery

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

// lines is a file of JSON lines that is only appended to. What a crash or a full
// disk leaves of the last line is cut off before the next one is written.
type lines struct {
	file *os.File
	size int64 // of whole lines
	torn bool
}

// openLines hands what is there to each, line by line.
func openLines(path string, each func(line []byte)) (lines, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return lines{}, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		each(line)
	}
	l := lines{size: int64(whole), torn: whole < len(data)}
	l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return l, err
}

// appendLines opens a file without reading more of it than its last line.
func appendLines(path string) (lines, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return lines{}, err
	}
	l := lines{file: file}
	info, err := file.Stat()
	if err == nil {
		l.size, err = endOfLines(file, info.Size())
	}
	if err != nil {
		return lines{}, errors.Join(err, file.Close())
	}
	l.torn = l.size < info.Size()
	return l, nil
}

// endOfLines is how long a file of a size is without what follows its last line.
func endOfLines(file io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 4096)
	for size > 0 {
		at := max(0, size-int64(len(block)))
		part := block[:size-at]
		if _, err := file.ReadAt(part, at); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		size = at
	}
	return 0, nil
}

// write appends a line. After an error it is not in the file, or will be cut off.
func (l *lines) write(v any) error {
	if err := l.mend(); err != nil {
		return err
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err := l.file.Write(line); err != nil {
		l.torn = true
		return errors.Join(err, l.mend())
	}
	l.size += int64(len(line))
	return nil
}

// writeDurably appends a line and waits until it is on disk.
func (l *lines) writeDurably(v any) error {
	before := l.size
	if err := l.write(v); err != nil {
		return err
	}
	if err := syncFile(l.file); err != nil {
		l.size, l.torn = before, true
		return errors.Join(err, l.mend())
	}
	return nil
}

// mend cuts off what is no whole line.
func (l *lines) mend() error {
	if !l.torn {
		return nil
	}
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	l.torn = false
	return nil
}

// empty takes all lines out.
func (l *lines) empty() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	l.size, l.torn = 0, false
	return nil
}
