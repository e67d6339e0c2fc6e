package maintain

import (
	"math"
	"unsafe"

	"github.com/corehour/corehour/internal/methodspan"
)

// passthroughRows are rows that stay as they are where others become sums. They wait for the end of
// the minute or hour under way, since what is written out early makes sums of few rows.
type passthroughRows struct {
	rows    []methodspan.Row // by start
	written int              // of rows
	bytes   int              // of rows
	total   int64            // of all minutes and hours
}

// maxKeptBytes bounds the rows that wait: with more of them sums are written early.
const maxKeptBytes = 16 << 20

// addRow takes a row but for what leads to one request, and reports whether there is room for
// another.
func (k *passthroughRows) addRow(row *methodspan.Row) bool {
	row.TraceID, row.SpanID, row.ParentSpanID, row.RequestID = [16]byte{}, [8]byte{}, [8]byte{}, ""
	k.rows = append(k.rows, *row)
	k.bytes += int(unsafe.Sizeof(*row)) + len(row.Stack) + len(row.Caller) + len(row.Signature) +
		(len(row.WallHist)+len(row.CPUHist))*int(unsafe.Sizeof(methodspan.Bin{}))
	k.total++
	return k.bytes < maxKeptBytes
}

// write writes those that started at a time or before.
func (k *passthroughRows) write(start int64, add func(*methodspan.Row) error) error {
	for ; k.written < len(k.rows) && k.rows[k.written].StartNS <= start; k.written++ {
		if err := add(&k.rows[k.written]); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes those that are left.
func (k *passthroughRows) writeAll(add func(*methodspan.Row) error) error {
	if err := k.write(math.MaxInt64, add); err != nil {
		return err
	}
	clear(k.rows) // let go of what they hold
	k.rows, k.written, k.bytes = k.rows[:0], 0, 0
	return nil
}
