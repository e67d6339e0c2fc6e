package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
)

// ReadRows reads all rows of one file, in the order they are stored.
func ReadRows(path string) ([]methodspan.Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Op: "read rows", Path: path, Err: err, Hint: "check that the file is there and readable"}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &Error{Op: "read rows", Path: path, Err: err}
	}
	content, err := readContent(f, info.Size())
	if err != nil {
		return nil, corrupt("read rows", path, err)
	}
	return content.rows, nil
}

// content is what a file holds.
type content struct {
	group writeGroup
	rows  []methodspan.Row
}

// readContent reads a file. The library may panic over one that is damaged,
// which must not stop more than the reading of it.
func readContent(r io.ReaderAt, size int64) (c *content, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("reading it panics: %v", p)
		}
	}()
	file, err := pq.OpenFile(r, size)
	if err != nil {
		return nil, err
	}
	c = &content{rows: make([]methodspan.Row, 0, min(file.NumRows(), size))}
	if text, ok := file.Lookup(metaGroup); ok {
		if c.group, err = parseGroup(text); err != nil {
			return nil, err
		}
	}
	reader := pq.NewGenericReader[record](file)
	defer reader.Close()
	resources := map[methodspan.Resource]*methodspan.Resource{}
	buf := make([]record, 512)
	for {
		clear(buf)
		n, err := reader.Read(buf)
		for i := range buf[:n] {
			c.rows = append(c.rows, buf[i].row(resources))
		}
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func readContentOf(data []byte) (*content, error) {
	return readContent(bytes.NewReader(data), int64(len(data)))
}
