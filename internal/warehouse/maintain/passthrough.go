package maintain

import (
	"math"
	"unsafe"

	"github.com/corehour/corehour/internal/methodspan"
)

// passthroughRows holds rows that are kept unchanged by a rollup. They wait for the end of the current
// minute or hour, because writing early would split the rollup into rows of few calls.
type passthroughRows struct {
	rows    []methodspan.Row // by start
	written int              // number of rows written
	bytes   int              // size of rows
	total   int64            // number of rows in all minutes and hours
}

// maxKeptBytes limits the size of the waiting rows. Beyond it rollup rows are written early.
const maxKeptBytes = 16 << 20

// addRow clears the request ids of row, adds a copy of it, and reports whether there is room for another row.
func (k *passthroughRows) addRow(row *methodspan.Row) bool {
	row.TraceID, row.SpanID, row.ParentSpanID, row.RequestID = [16]byte{}, [8]byte{}, [8]byte{}, ""
	k.rows = append(k.rows, *row)
	k.bytes += int(unsafe.Sizeof(*row)) + len(row.Stack) + len(row.Caller) + len(row.Signature) +
		(len(row.WallHist)+len(row.CPUHist))*int(unsafe.Sizeof(methodspan.Bin{}))
	k.total++
	return k.bytes < maxKeptBytes
}

// write writes the rows that started at or before start.
func (k *passthroughRows) write(start int64, add func(*methodspan.Row) error) error {
	for ; k.written < len(k.rows) && k.rows[k.written].StartNS <= start; k.written++ {
		if err := add(&k.rows[k.written]); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes the remaining rows.
func (k *passthroughRows) writeAll(add func(*methodspan.Row) error) error {
	if err := k.write(math.MaxInt64, add); err != nil {
		return err
	}
	clear(k.rows) // release the memory they refer to
	k.rows, k.written, k.bytes = k.rows[:0], 0, 0
	return nil
}
