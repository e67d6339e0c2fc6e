package parquet

import (
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// stream writes a file of rows that come in order, row group by row group, and so
// holds one row group in memory however large the file gets.
type stream struct {
	file     *fileEncoder
	out      *summed
	rows     []methodspan.Row // of the row group under way
	pointers []*methodspan.Row
	order    []int32
	text     int // bytes of names in it
	entry    fileEntry
}

// newStream begins a file.
func newStream(e *encoder, f diskFile, entry fileEntry) *stream {
	s := &stream{out: &summed{file: f, sum: crc32.New(castagnoli)}, entry: entry, rows: make([]methodspan.Row, 0, e.groupRows)}
	e.reset()
	// What a column's codec is must be known before all of its values are: where
	// compressing never pays it is none, everywhere else zstd.
	for i := range e.columns {
		c := &e.columns[i]
		c.decided, c.codec = true, format.Zstd
		if incompressible(c.column) {
			c.codec = format.Uncompressed
		}
	}
	s.file = e.begin(s.out)
	return s
}

func incompressible(c column) bool {
	switch c := c.(type) {
	case *timeColumn, *seqColumn:
		return true
	case *sparseColumn:
		return c.random
	}
	return false
}

// add adds a row, which must not be smaller than the one before. It is copied.
func (s *stream) add(r *methodspan.Row) error {
	s.rows = append(s.rows, *r)
	s.text += len(r.Stack) + len(r.RequestID) + len(r.BatchID) + len(r.Caller) + len(r.Signature)
	if len(s.rows) == s.file.groupRows || s.text > rowGroupText {
		return s.flush()
	}
	return nil
}

func (s *stream) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	e := s.file.encoder
	s.pointers, s.order = s.pointers[:0], s.order[:0]
	if s.entry.Rows == 0 {
		s.entry.MinStartNS, s.entry.MaxStartNS = s.rows[0].StartNS, s.rows[0].StartNS
	}
	for i := range s.rows {
		r := &s.rows[i]
		s.pointers, s.order = append(s.pointers, r), append(s.order, int32(i))
		s.entry.MinStartNS, s.entry.MaxStartNS = min(s.entry.MinStartNS, r.StartNS), max(s.entry.MaxStartNS, r.StartNS)
	}
	s.entry.Rows += int64(len(s.rows))
	e.table.set(s.pointers)
	err := s.file.group(&rowOrder{s.order, true})
	e.clear()
	clear(s.rows)
	s.rows, s.text = s.rows[:0], 0
	return err
}

// finish writes the rest, makes it durable and describes the file.
func (s *stream) finish() (fileEntry, error) {
	err := s.flush()
	if err == nil {
		err = s.file.finish()
	}
	if err == nil {
		err = s.out.file.Sync()
	}
	s.file.reset()
	s.entry.Bytes, s.entry.Checksum = s.out.n, formatChecksum(s.out.sum.Sum32())
	return s.entry, err
}
