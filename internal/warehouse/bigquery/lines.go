package bigquery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// fileVersion is the version of the formats of journals and state files.
const fileVersion = 1

// fileHeader is the first line of a journal, and part of a state file.
type fileHeader struct {
	Version int `json:"version"`
}

// checkVersion returns an error if data, the first line of a journal or a state file, has another
// version. The caller handles damaged data.
func checkVersion(path string, data []byte) error {
	var h fileHeader
	if json.Unmarshal(data, &h) == nil && h.Version != fileVersion {
		return fmt.Errorf("%s must have version %d, found %d: run the release that wrote it until nothing waits there", path, fileVersion, h.Version)
	}
	return nil
}

// lineFile is an append-only file of JSON lines. An incomplete last line, left by a crash or a full
// disk, is cut off before the next write.
type lineFile struct {
	file      *os.File
	size      int64 // of the complete lines
	torn      bool  // bytes of an incomplete line follow them
	versioned bool  // the first line is a fileHeader
}

// openJournalFile opens a journal and calls each for every complete line, the header included.
func openJournalFile(path string, each func(line []byte)) (lineFile, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return lineFile{}, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	first, _, _ := bytes.Cut(data[:whole], []byte("\n"))
	if err := checkVersion(path, first); err != nil {
		return lineFile{}, err
	}
	for line := range bytes.Lines(data[:whole]) {
		each(line)
	}
	l := lineFile{size: int64(whole), torn: whole < len(data), versioned: true}
	l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return l, err
}

// openForAppend opens the file and reads only as much as it needs to find the end of the last line.
func openForAppend(path string) (lineFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return lineFile{}, err
	}
	l := lineFile{file: file}
	info, err := file.Stat()
	if err == nil {
		l.size, err = endOfLastLine(file, info.Size())
	}
	if err != nil {
		return lineFile{}, errors.Join(err, file.Close())
	}
	l.torn = l.size < info.Size()
	return l, nil
}

// endOfLastLine returns the offset after the last complete line of a file of size bytes.
func endOfLastLine(file io.ReaderAt, size int64) (int64, error) {
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

// write appends v as a line. After an error the line is not in the file, or will be cut off.
func (l *lineFile) write(v any) error {
	if err := l.truncateTorn(); err != nil {
		return err
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if l.size == 0 && l.versioned {
		line = append(fmt.Appendf(nil, "{\"version\":%d}\n", fileVersion), line...)
	}
	if _, err := l.file.Write(line); err != nil {
		l.torn = true
		return errors.Join(err, l.truncateTorn())
	}
	l.size += int64(len(line))
	return nil
}

// writeDurably appends v as a line and waits until it is on disk.
func (l *lineFile) writeDurably(v any) error {
	before := l.size
	if err := l.write(v); err != nil {
		return err
	}
	if err := syncFile(l.file); err != nil {
		l.size, l.torn = before, true
		return errors.Join(err, l.truncateTorn())
	}
	return nil
}

// truncateTorn cuts off an incomplete last line.
func (l *lineFile) truncateTorn() error {
	if !l.torn {
		return nil
	}
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	l.torn = false
	return nil
}

// truncateAll removes all lines.
func (l *lineFile) truncateAll() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	l.size, l.torn = 0, false
	return nil
}
