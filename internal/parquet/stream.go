package parquet

import (
	"hash/crc32"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// stream writes a file of rows that come in order, row group by row group, and so
// holds one row group in memory however large the file gets.
type stream struct {
	file *fileEncoder
	path string
	out  *summed
	// The row group under way.
	rows     []methodspan.Row
	pointers []*methodspan.Row
	order    []int32
	weight   int // of it: bytes of names, and bins
	entry    fileEntry
}

// firstRows is what there is room for before a row group turns out to be larger.
const firstRows = 16 << 10

// newStream begins a file.
func newStream(e *encoder, f diskFile, path string, entry fileEntry) *stream {
	s := &stream{path: path, out: &summed{file: f, sum: crc32.New(castagnoli)}, entry: entry}
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
	switch c.(type) {
	case *timeColumn, *seqColumn, *idColumn:
		return true
	}
	return false
}

// addRow adds a row, which must not be smaller than the one before. It is copied.
func (s *stream) addRow(r *methodspan.Row) error {
	if len(s.rows) == cap(s.rows) {
		grown := min(s.file.groupRows, firstRows)
		if s.rows != nil {
			grown = s.file.groupRows
		}
		s.rows = append(make([]methodspan.Row, 0, grown), s.rows...)
	}
	s.rows = append(s.rows, *r)
	s.weight += len(r.Stack) + len(r.RequestID) + len(r.BatchID) + len(r.Caller) + len(r.Signature) +
		(len(r.WallHist)+len(r.CPUHist))*binWeight
	if len(s.rows) == s.file.groupRows || s.weight > s.file.groupWeight {
		return s.flush()
	}
	return nil
}

// flush writes a row group of the rows that were added.
func (s *stream) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	e := s.file.encoder
	s.pointers = s.pointers[:0]
	for i := range s.rows {
		s.pointers = append(s.pointers, &s.rows[i])
	}
	e.table.set(s.pointers)
	s.count(e.table.start.values)
	err := s.file.group(s.inOrder(len(s.rows)))
	e.clear()
	clear(s.rows)
	s.rows, s.weight = s.rows[:0], 0
	if err != nil {
		return warehouse.DiskError("write file", s.path, err)
	}
	return nil
}

// count notes the starts of a row group's rows.
func (s *stream) count(starts []int64) {
	if s.entry.Rows == 0 {
		s.entry.MinStartNS, s.entry.MaxStartNS = starts[0], starts[0]
	}
	s.entry.MinStartNS, s.entry.MaxStartNS = min(s.entry.MinStartNS, slices.Min(starts)), max(s.entry.MaxStartNS, slices.Max(starts))
	s.entry.Rows += int64(len(starts))
}

// inOrder is the order of n rows that are sorted.
func (s *stream) inOrder(n int) *rowOrder {
	for len(s.order) < n {
		s.order = append(s.order, int32(len(s.order)))
	}
	return &rowOrder{s.order[:n], true}
}

// finish writes the rest, makes it durable and describes the file.
func (s *stream) finish() (fileEntry, error) {
	err := s.flush()
	if err == nil {
		if err = s.file.finish(); err == nil {
			err = s.out.file.Sync()
		}
		if err != nil {
			err = warehouse.DiskError("write file", s.path, err)
		}
	}
	s.file.reset()
	s.entry.GroupBytes = s.file.groupBytes()
	s.entry.Bytes, s.entry.Checksum = s.out.n, formatChecksum(s.out.sum.Sum32())
	return s.entry, err
}
