package parquet

import (
	"bytes"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// ExchangeEncoder encodes files for other programs. The columns have the names, types and repetition of
// the warehouse's own files, except that end_ns is required. The encodings and pages are those that
// every Parquet reader supports. It reuses its buffers.
type ExchangeEncoder struct {
	encoder *Encoder
	out     bytes.Buffer
}

// NewExchangeEncoder returns an ExchangeEncoder.
func NewExchangeEncoder() *ExchangeEncoder {
	e := &ExchangeEncoder{encoder: NewEncoder()}
	e.encoder.chunk.plain = true
	e.encoder.table.end.required = true
	return e
}

// Encode encodes one file for each UTC date on which rows started and passes it to emit.
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
