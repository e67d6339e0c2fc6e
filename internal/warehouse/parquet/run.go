package parquet

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/regular"
	"github.com/corehour/corehour/internal/warehouse"
)

// Run reads the rows of several files of one date in the sort order of the files: service, class,
// method, version and start. It has in memory one row group of each file, and one of its row groups of
// counts.
type Run struct {
	ctx     context.Context
	sources sourceHeap
	files   []*os.File
	current *source // the source of the row returned last
	rows    int
}

// RunOptions select and change the rows that a Run reads.
type RunOptions struct {
	// Columns are the columns to read; empty means all. The values of all other columns
	// become unknown.
	Columns []string
	// Without are columns to leave out of these.
	Without []string
	// Edit, if not nil, can change the service of a row, and leaves the row out by returning false.
	// Each file is read once for each of Parts parts, and Edit is called with every row of each part.
	// The rows of a part must stay in order.
	Edit  func(part int, r *methodspan.Row) bool
	Parts int
	// weigh, if not nil, returns the weights of the rows of the row group that a source reads next,
	// or nil if they are light.
	weigh func(*source) ([]int32, error)
}

// OpenRun opens the files. It first verifies every file against its checksum, so that damage is found
// before any row is used.
func OpenRun(ctx context.Context, files []File, o RunOptions) (*Run, error) {
	want := func(c string) bool {
		return (len(o.Columns) == 0 || slices.Contains(o.Columns, c)) && !slices.Contains(o.Without, c)
	}
	intern := interner()
	r := &Run{ctx: ctx}
	for i := range files {
		for part := range max(1, o.Parts) {
			s := source{meta: &files[i], part: part, edit: o.Edit, weigh: o.weigh}
			if err := r.open(s, func() *block { return newBlock(want, intern) }); err != nil {
				return nil, errors.Join(err, r.Close())
			}
		}
	}
	heap.Init(&r.sources)
	return r, nil
}

// interner returns a function that returns one shared copy of equal names.
func interner() func(string) string {
	names := map[string]string{}
	return func(s string) string {
		if shared, ok := names[s]; ok {
			return shared
		}
		names[s] = s
		return s
	}
}

func (r *Run) open(s source, newBlock func() *block) error {
	f, err := regular.Open(s.meta.Path)
	if err != nil {
		return s.meta.unreadable(err)
	}
	r.files = append(r.files, f)
	if s.part == 0 {
		if err := s.meta.verify(r.ctx, f); err != nil {
			return err
		}
	}
	if s.file, err = openFile(f, s.meta.Bytes); err != nil {
		return warehouse.Damaged("read file", s.meta.Path, err)
	}
	for chain, groups := range chainsOf(s.file) {
		s := s
		s.chain, s.groups, s.block = chain, groups, newBlock()
		more, err := s.next()
		if err != nil {
			return err
		}
		if more {
			r.sources = append(r.sources, &s)
		}
	}
	return nil
}

// Next returns the next row, or nil after the last one. The caller can change the row, which is valid
// until the next call.
func (r *Run) Next() (*methodspan.Row, error) {
	if r.rows++; r.rows%8192 == 0 && r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	if r.current != nil {
		r.current = nil
		if err := r.advance(); err != nil {
			return nil, err
		}
	}
	if len(r.sources) == 0 {
		return nil, nil
	}
	s := r.sources[0]
	r.current = s
	if s.edit == nil {
		s.block.row(s.at-1, &s.row)
	}
	return &s.row, nil
}

// advance moves the first source to its next row, and removes the source at its end.
func (r *Run) advance() error {
	more, err := r.sources[0].next()
	switch {
	case err != nil:
		return err
	case more:
		heap.Fix(&r.sources, 0)
	default:
		heap.Pop(&r.sources)
	}
	return nil
}

// Close closes the files.
func (r *Run) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	r.files, r.sources, r.current = nil, nil, nil
	return err
}

// source reads the rows of one chain of a file, for one part.
type source struct {
	meta   *File
	file   *pq.File
	part   int
	edit   func(part int, r *methodspan.Row) bool
	chain  int
	groups []int // row groups to read next
	block  *block
	group  int // the row group in the block
	at     int // the next row of the block
	weigh  func(*source) ([]int32, error)
	// weights are the weights of the rows in the block; empty if they are light.
	weights []int32
	key     rowKey
	row     methodspan.Row // filled for each row if edit is set, otherwise by Run.Next
}

// rowKey is the sort key of a row.
type rowKey struct {
	service, class, method, version string
	start                           int64
}

func keyOf(r *methodspan.Row) rowKey {
	res := r.Resource
	return rowKey{res.Service, r.Class, r.Method, res.Version, r.StartNS}
}

// Compare compares rows in the sort order of files: service, class, method, version and start.
func Compare(a, b *methodspan.Row) int {
	x, y := keyOf(a), keyOf(b)
	return x.compare(&y)
}

func (k *rowKey) compare(o *rowKey) int {
	if c := cmp.Compare(k.service, o.service); c != 0 {
		return c
	}
	if c := cmp.Compare(k.class, o.class); c != 0 {
		return c
	}
	if c := cmp.Compare(k.method, o.method); c != 0 {
		return c
	}
	if c := cmp.Compare(k.version, o.version); c != 0 {
		return c
	}
	return cmp.Compare(k.start, o.start)
}

// sizeOf returns the uncompressed size of a row group in bytes.
func (s *source) sizeOf(group int) int64 { return s.file.Metadata().RowGroups[group].TotalByteSize }

// chunkOf returns the metadata of a column in the current row group.
func (s *source) chunkOf(c blockColumn) *format.ColumnMetaData {
	return &s.file.Metadata().RowGroups[s.group].Columns[c.leaf(s.file.Schema())].MetaData
}

// next moves to the next row. It returns false at the end.
func (s *source) next() (bool, error) {
	for {
		for s.at == s.block.rows {
			if len(s.groups) == 0 {
				s.block = nil
				return false, nil
			}
			s.group, s.groups = s.groups[0], s.groups[1:]
			if err := s.block.read(s.file.Schema(), s.file.RowGroups()[s.group]); err != nil {
				return false, warehouse.Damaged("read file", s.meta.Path, err)
			}
			if s.weigh != nil {
				var err error
				if s.weights, err = s.weigh(s); err != nil {
					return false, warehouse.Damaged("read file", s.meta.Path, err)
				}
			}
			s.at = 0
		}
		key := s.block.key(s.at)
		s.at++
		if s.edit != nil {
			s.block.row(s.at-1, &s.row)
			if !s.edit(s.part, &s.row) {
				continue
			}
			key = keyOf(&s.row)
		}
		if key.compare(&s.key) < 0 {
			return false, warehouse.Damaged("read file", s.meta.Path, fmt.Errorf("row %d of row group %d is out of order", s.at-1, s.group))
		}
		s.key = key
		return true, nil
	}
}

type sourceHeap []*source

func (h sourceHeap) Len() int { return len(h) }

// Less orders rows of equal keys by the paths of their files, and so in the order of their commits.
func (h sourceHeap) Less(i, j int) bool {
	if c := h[i].key.compare(&h[j].key); c != 0 {
		return c < 0
	}
	if h[i].meta.Path != h[j].meta.Path {
		return h[i].meta.Path < h[j].meta.Path
	}
	return h[i].chain < h[j].chain
}

func (h sourceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *sourceHeap) Push(x any) { *h = append(*h, x.(*source)) }

func (h *sourceHeap) Pop() any {
	old := *h
	n := len(old) - 1
	s := old[n]
	old[n] = nil
	*h = old[:n]
	return s
}
