package parquet

import (
	"bytes"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// ExchangeEncoder makes files for other programs to read: the columns are those of
// the warehouse's own files, by name, type and repetition, but for the end of rows, which
// every row has; encodings and pages are those that every reader of Parquet has. It keeps
// its buffers.
type ExchangeEncoder struct {
	encoder *Encoder
	out     bytes.Buffer
}

// NewExchangeEncoder makes one.
func NewExchangeEncoder() *ExchangeEncoder {
	e := &ExchangeEncoder{encoder: NewEncoder()}
	e.encoder.chunk.plain = true
	e.encoder.table.end.required = true
	return e
}

// Encode makes one file for each UTC date on which rows started, and hands it on.
// The bytes are valid until emit returns.
func (e *ExchangeEncoder) Encode(rows []*methodspan.Row, emit func(date string, rows []*methodspan.Row, file []byte) error) error {
	for _, d := range warehouse.PartitionByDate(rows) {
		e.out.Reset()
		if _, err := e.encoder.Encode(&e.out, d.Rows, nil); err != nil {
			return err
		}
		if err := emit(d.Date, d.Rows, e.out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
