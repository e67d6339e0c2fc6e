package parquet

import (
	"errors"
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
	file, err := pq.OpenFile(f, info.Size())
	if err != nil {
		return nil, corrupt("read rows", path, err)
	}
	reader := pq.NewGenericReader[record](file)
	defer reader.Close()
	rows := make([]methodspan.Row, 0, file.NumRows())
	resources := map[methodspan.Resource]*methodspan.Resource{}
	buf := make([]record, 512)
	for {
		clear(buf)
		n, err := reader.Read(buf)
		for i := range buf[:n] {
			rows = append(rows, buf[i].row(resources))
		}
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, corrupt("read rows", path, err)
		}
	}
}
