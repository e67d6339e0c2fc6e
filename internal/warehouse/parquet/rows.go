package parquet

import (
	"bytes"
	"context"
	"io"
	"strconv"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/regular"
	"github.com/corehour/corehour/internal/warehouse"
)

// ReadRows reads all rows of one file, in stored order.
func ReadRows(path string) ([]methodspan.Row, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, &warehouse.Error{Op: "read rows", Path: path, Err: err, Hint: "check that the file is there and readable"}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &warehouse.Error{Op: "read rows", Path: path, Err: err}
	}
	content, err := readContent(f, info.Size())
	if err != nil {
		return nil, warehouse.Damaged("read rows", path, err)
	}
	return content.Rows, nil
}

// Content is the contents of a file.
type Content struct {
	Group      WriteGroup
	Rows       []methodspan.Row
	GroupBytes int64 // see Summary
	Schema     int   // version of the schema
}

func readContent(r io.ReaderAt, size int64) (*Content, error) {
	file, err := openFile(r, size)
	if err != nil {
		return nil, err
	}
	if err := checkPages(r, file); err != nil {
		return nil, err
	}
	c := &Content{
		Rows:       make([]methodspan.Row, 0, max(0, min(file.NumRows(), size))),
		GroupBytes: largestGroups(file.Metadata().RowGroups),
	}
	if text, ok := file.Lookup(metaSchema); ok {
		c.Schema, _ = strconv.Atoi(text) // without a number the version is 0
	}
	if text, ok := file.Lookup(metaGroup); ok {
		if c.Group, err = parseGroup(text); err != nil {
			return nil, err
		}
	}
	b := newBlock(nil, nil)
	for _, group := range file.RowGroups() {
		if err := b.read(file.Schema(), group); err != nil {
			return nil, err
		}
		for i := range b.rows {
			c.Rows = append(c.Rows, methodspan.Row{})
			b.row(i, &c.Rows[len(c.Rows)-1])
		}
	}
	return c, nil
}

// ReadContent reads a file from memory.
func ReadContent(data []byte) (*Content, error) {
	return readContent(bytes.NewReader(data), int64(len(data)))
}

// Content reads the file, which must match its committed size and checksum.
func (f *File) Content(ctx context.Context) (*Content, error) {
	data, err := regular.ReadFile(f.Path, f.Bytes+1)
	if err != nil {
		return nil, f.unreadable(err)
	}
	if err := f.verify(ctx, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	c, err := ReadContent(data)
	if err != nil {
		return nil, warehouse.Damaged("read file", f.Path, err)
	}
	return c, nil
}
