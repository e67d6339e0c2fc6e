package parquet

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// ReadRows reads all rows of one file, in the order they are stored.
func ReadRows(path string) ([]methodspan.Row, error) {
	f, err := os.Open(path)
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
	return content.rows, nil
}

// content is what a file holds.
type content struct {
	group      writeGroup
	rows       []methodspan.Row
	groupBytes int64 // of the largest row group, before compression
	schema     int   // version of the schema
}

func readContent(r io.ReaderAt, size int64) (*content, error) {
	file, err := openFile(r, size)
	if err != nil {
		return nil, err
	}
	if err := checkPages(r, file); err != nil {
		return nil, err
	}
	c := &content{
		rows:       make([]methodspan.Row, 0, max(0, min(file.NumRows(), size))),
		groupBytes: largestGroup(file.Metadata().RowGroups),
	}
	if text, ok := file.Lookup(metaSchema); ok {
		c.schema, _ = strconv.Atoi(text) // no number is no version
	}
	text, ok := file.Lookup(metaGroup)
	if !ok {
		text, ok = file.Lookup(metaFirstGroup)
	}
	if ok {
		if c.group, err = parseGroup(text); err != nil {
			return nil, err
		}
	}
	b := newBlock(nil, nil)
	for _, group := range file.RowGroups() {
		if err := b.read(file.Schema(), group); err != nil {
			return nil, err
		}
		for i := range b.rows {
			c.rows = append(c.rows, methodspan.Row{})
			b.row(i, &c.rows[len(c.rows)-1])
		}
	}
	return c, nil
}

func readContentOf(data []byte) (*content, error) {
	return readContent(bytes.NewReader(data), int64(len(data)))
}
