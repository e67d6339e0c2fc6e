package parquet

import (
	"context"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// keyColumns are the sort columns, and the kind, by which row groups are split.
var keyColumns = []string{"service", "version", "class", "method", "start_ns", "kind"}

// merger merges the rows of files into one stream, window by window. It first determines the order of
// the rows from the sort columns, and then copies the window column by column. So only one of the other
// columns is in memory at a time.
type merger struct {
	ctx     context.Context
	to      *Stream
	keys    *Run // reads keyColumns
	blocks  blocks
	spare   buffers
	weighed *block

	// State of the current window.
	picks  []pick
	counts []bool // whether each pick that is in no row group yet is a counts row
	ends   []int  // end of each row group in picks
	size   int64  // uncompressed bytes of the parts
	parts  []part
	at     map[*source]mergeSource
}

// A pick is a row of one of several parts.
type pick struct{ part, row int32 }

// A part is a row group from which a window has rows.
type part struct {
	meta   *File
	schema *pq.Schema
	group  pq.RowGroup
	block  *block
}

// mergeSource is the row group and part that a source currently reads.
type mergeSource struct {
	group int
	part  int32
}

// Merge adds the rows of files. The columns named in without are left out; their values become unknown.
func (s *Stream) Merge(ctx context.Context, files []File, without []string) error {
	m := &merger{ctx: ctx, to: s, at: map[*source]mergeSource{}}
	m.blocks.want = func(column string) bool { return !slices.Contains(without, column) }
	m.blocks.intern = interner()
	m.weighed = m.blocks.make()
	var err error
	if m.keys, err = OpenRun(ctx, files, RunOptions{Columns: keyColumns, weigh: m.weigh}); err != nil {
		return err
	}
	defer m.keys.Close()
	for len(m.keys.sources) > 0 {
		if err := m.pick(); err != nil {
			return err
		}
		if err := m.copy(); err != nil {
			return err
		}
	}
	return nil
}

// pick selects the rows of the next window. A window has at least as many rows as the current row groups
// of all sources, rounded up to whole row groups, so that a part is read at most twice. It ends earlier
// if its parts are more than twice as large as those row groups.
func (m *merger) pick() error {
	m.picks, m.counts, m.ends, m.parts = m.picks[:0], m.counts[:0], m.ends[:0], m.parts[:0]
	clear(m.at)
	m.blocks.used = 0
	rows, size := 0, int64(0)
	for _, s := range m.keys.sources {
		rows += s.block.rows
		size += s.sizeOf(s.group)
	}
	m.size = 0
	begin, weight := 0, 0
	for len(m.keys.sources) > 0 && (begin < len(m.picks) || begin < rows && m.size <= 2*size) {
		if m.keys.rows++; m.keys.rows%8192 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		s := m.keys.sources[0]
		row := s.at - 1
		if len(m.picks) == 0 {
			m.to.file.table.day.day = methodspan.EventDay(s.key.start)
		}
		m.picks = append(m.picks, pick{m.partOf(s), int32(row)})
		m.counts = append(m.counts, s.block.kind.get(row) == methodspan.KindCounts)
		if len(s.weights) > 0 {
			weight += int(s.weights[row])
		}
		if len(m.picks)-begin == m.to.file.groupRows || weight > m.to.file.groupWeight {
			m.end(begin)
			begin, weight = len(m.picks), 0
		}
		if err := m.keys.advance(); err != nil {
			return err
		}
	}
	if len(m.picks) > begin {
		m.end(begin)
	}
	return nil
}

// end makes row groups of picks[begin:].
func (m *merger) end(begin int) {
	for _, part := range splitCounts(m.picks[begin:], m.to.file.groupCounts, func(i int) bool { return m.counts[i] }) {
		begin += copy(m.picks[begin:], part)
		m.ends = append(m.ends, begin)
	}
	m.counts = m.counts[:0]
}

// partOf returns the index of the part that source s currently reads, and adds the part if it is new.
func (m *merger) partOf(s *source) int32 {
	at, ok := m.at[s]
	if !ok || at.group != s.group {
		at = mergeSource{s.group, int32(len(m.parts))}
		m.at[s] = at
		p := part{s.meta, s.file.Schema(), s.file.RowGroups()[s.group], m.blocks.next()}
		p.block.begin(p.group)
		m.size += s.sizeOf(s.group)
		m.parts = append(m.parts, p)
	}
	return at.part
}

// copy writes the row groups of the window to the stream.
func (m *merger) copy() error {
	if err := m.readResources(); err != nil {
		return err
	}
	groups := make([]*format.RowGroup, len(m.ends))
	for g := range groups {
		groups[g] = m.to.file.newGroup(len(m.picksOf(g)))
	}
	for i := range m.to.file.columns {
		if u := m.to.file.columns[i].unit; u.leaves > 0 {
			if err := m.copyUnit(u, i, groups); err != nil {
				return err
			}
		}
	}
	for _, g := range groups {
		m.to.file.note(g)
	}
	return nil
}

func (m *merger) picksOf(group int) []pick {
	begin := 0
	if group > 0 {
		begin = m.ends[group-1]
	}
	return m.picks[begin:m.ends[group]]
}

// copyUnit writes the columns of unit u, starting with column first, to all row groups of the window.
func (m *merger) copyUnit(u unit, first int, groups []*format.RowGroup) error {
	if m.ctx.Err() != nil {
		return m.ctx.Err()
	}
	for i := range m.parts {
		if err := m.read(&m.parts[i], u.paths); err != nil {
			return err
		}
	}
	e := m.to.file.Encoder
	for i, g := range groups {
		picks := m.picksOf(i)
		u.copy(&copier{picks, m.parts})
		if u.starts {
			m.to.count(e.table.start.values)
		}
		for c := first; c < first+u.leaves; c++ {
			if err := m.to.file.column(c, m.to.inOrder(len(picks)), g); err != nil {
				return warehouse.DiskError("write file", m.to.path, err)
			}
			e.columns[c].reset()
		}
		e.table.resources.reset()
		m.renumber(u.paths)
	}
	for i := range m.parts {
		m.letGo(&m.parts[i], u.paths)
	}
	for c := first; c < first+u.leaves; c++ {
		e.columns[c].forget()
	}
	return nil
}

// read reads the columns at paths of a part.
func (m *merger) read(p *part, paths []string) error {
	columns := p.block.named(paths)
	for _, c := range columns {
		c.borrow(&m.spare)
	}
	if err := p.block.readColumns(p.schema, p.group, columns); err != nil {
		return warehouse.Damaged("read file", p.meta.Path, err)
	}
	return nil
}

// letGo releases the columns at paths of a part.
func (m *merger) letGo(p *part, paths []string) {
	for _, c := range p.block.named(paths) {
		c.giveBack(&m.spare)
	}
}

// renumber forgets the numbers of the names in the destination columns, for the next row group.
func (m *merger) renumber(paths []string) {
	for _, p := range m.parts {
		for _, c := range p.block.named(paths) {
			if v, ok := c.vector.(*nameVector); ok {
				v.numbers = v.numbers[:0]
			}
		}
	}
}

// readResources reads the resources of the rows of all parts.
func (m *merger) readResources() error {
	for i := range m.parts {
		if err := m.read(&m.parts[i], resourcePaths); err != nil {
			return err
		}
		m.parts[i].block.numberResources()
		m.letGo(&m.parts[i], resourcePaths)
	}
	return nil
}

// blocks is a pool of blocks that each window reuses.
type blocks struct {
	want   func(column string) bool
	intern func(string) string
	all    []*block
	used   int
}

func (b *blocks) make() *block { return newBlock(b.want, b.intern) }

func (b *blocks) next() *block {
	if b.used == len(b.all) {
		b.all = append(b.all, b.make())
	}
	b.used++
	return b.all[b.used-1]
}
