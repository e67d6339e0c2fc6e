package parquet

import (
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/durable"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// Stream writes rows that arrive in order to a file, row group by row group. Memory is bounded by one
// row group, whatever the size of the file.
type Stream struct {
	file *fileEncoder
	path string
	// The current row group.
	rows     []methodspan.Row
	pointers []*methodspan.Row
	order    []int32
	weight   int // of the row group: bytes of names, and bins
	summary  Summary
}

// firstRows is the initial capacity in rows of the current row group.
const firstRows = 16 << 10

// Stream writes the rows that produce adds, in order, to f and syncs it. path is for error messages.
// Errors of produce are returned unchanged.
func (e *Encoder) Stream(f durable.File, path string, produce func(*Stream) error) (Summary, error) {
	defer e.reset()
	out := &summed{w: f}
	s := &Stream{path: path}
	// The codec of a column must be chosen before all of its values are known. It is none where
	// compression never pays, and zstd elsewhere.
	for i := range e.columns {
		c := &e.columns[i]
		c.decided, c.codec = true, format.Zstd
		if incompressible(c.column) {
			c.codec = format.Uncompressed
		}
	}
	s.file = e.begin(out)
	if err := produce(s); err != nil {
		return Summary{}, err
	}
	if err := s.flush(); err != nil {
		return Summary{}, err
	}
	err := s.file.finish()
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return Summary{}, warehouse.DiskError("write file", path, err)
	}
	s.summary.Bytes, s.summary.GroupBytes, s.summary.Checksum = out.n, largestGroups(s.file.meta.RowGroups), FormatChecksum(out.sum)
	return s.summary, nil
}

func incompressible(c column) bool {
	switch c.(type) {
	case *timeColumn, *seqColumn, *idColumn:
		return true
	}
	return false
}

// AddRow adds a copy of a row, which must not sort before the previous row.
func (s *Stream) AddRow(r *methodspan.Row) error {
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

// flush writes the rows added so far as row groups.
func (s *Stream) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	e := s.file.Encoder
	s.pointers = s.pointers[:0]
	for i := range s.rows {
		s.pointers = append(s.pointers, &s.rows[i])
	}
	for _, part := range splitCounts(s.pointers, e.groupCounts, func(i int) bool { return s.rows[i].Kind == methodspan.KindCounts }) {
		e.table.set(part)
		s.count(e.table.start.values)
		err := s.file.group(s.inOrder(len(part)))
		e.clear()
		if err != nil {
			return warehouse.DiskError("write file", s.path, err)
		}
	}
	clear(s.rows)
	s.rows, s.weight = s.rows[:0], 0
	return nil
}

// count adds the start times of a row group's rows to the summary.
func (s *Stream) count(starts []int64) {
	if s.summary.Rows == 0 {
		s.summary.MinStartNS, s.summary.MaxStartNS = starts[0], starts[0]
	}
	s.summary.MinStartNS, s.summary.MaxStartNS = min(s.summary.MinStartNS, slices.Min(starts)), max(s.summary.MaxStartNS, slices.Max(starts))
	s.summary.Rows += int64(len(starts))
}

// inOrder returns the order of n rows that are already sorted.
func (s *Stream) inOrder(n int) *rowOrder {
	for len(s.order) < n {
		s.order = append(s.order, int32(len(s.order)))
	}
	return &rowOrder{s.order[:n], true}
}
