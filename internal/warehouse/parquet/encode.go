package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// Keys of the metadata in a file's footer.
const (
	metaSchema = "corehour.schema_version"
	metaGamma  = "corehour.histogram_gamma"
	metaGroup  = "corehour.write"
)

// WriteGroup says which files one Write made together and which items they
// settle. It is what a start needs to adopt a file that no manifest names yet.
type WriteGroup struct {
	Files []string          `json:"files"` // below the root, with forward slashes
	Items map[string]string `json:"items"`
}

// parseGroup reads what a file's footer says it was written with.
func parseGroup(text string) (group WriteGroup, err error) {
	if err := json.Unmarshal([]byte(text), &group); err != nil {
		return group, err
	}
	for i, name := range group.Files {
		if slices.Contains(group.Files[:i], name) {
			return group, fmt.Errorf("%q is listed twice", name)
		}
		if !filepath.IsLocal(name) || !strings.HasPrefix(name, warehouse.DatePrefix) || strings.Count(name, "/") != 1 {
			return group, fmt.Errorf("%q is no file of a warehouse", name)
		}
	}
	return group, nil
}

const (
	// rowGroupRows is how many rows a row group has at most: DuckDB's own size,
	// so that its threads get one each.
	rowGroupRows = 122_880
	// rowGroupWeight bounds the bytes of names of a column in one row group, because a
	// page holds less than 2 GiB.
	rowGroupWeight = 256 << 20
	// rowGroupBins bounds the bins of histograms in one row group, which may be
	// hundreds a row: who reads a row group has all of them in memory.
	rowGroupBins = 1 << 20
	// binWeight is what a bin counts as in addition to the bytes of names.
	binWeight = rowGroupWeight / rowGroupBins
	// rowGroupCounts is how many counts at least are a row group of their own.
	rowGroupCounts = 4096
	// bufferBytes is how much is encoded before it is written.
	bufferBytes = 1 << 20

	magic = "PAR1"
)

// Encoder turns rows into files. It goes column by column and looks at a row
// once, which makes it several times as fast as the library's own writer; pages,
// encodings and compression are the library's. It keeps its buffers.
type Encoder struct {
	table   *table
	columns []leaf
	chunk   chunk
	out     []byte
	sorting []format.SortingColumn

	groupRows   int // rows of a row group at most
	groupWeight int // and bytes of names and weight of bins
	groupCounts int // of a row group of counts at least
}

// NewEncoder makes one.
func NewEncoder() *Encoder {
	e := &Encoder{table: newTable(), groupRows: rowGroupRows, groupWeight: rowGroupWeight, groupCounts: rowGroupCounts}
	e.columns = e.table.leaves
	e.chunk.zstd = newCompressor()
	for _, name := range [...]string{"service", "class", "method", "version", "start_ns"} {
		for i, c := range e.columns {
			if c.path[0] == name {
				e.sorting = append(e.sorting, format.SortingColumn{ColumnIdx: int32(i), NullsFirst: true})
			}
		}
	}
	e.reset()
	return e
}

// Encode sorts the rows, which are all of one date, and writes them as one file. A file that
// names its write says itself what its checksum is.
func (e *Encoder) Encode(w io.Writer, rows []*methodspan.Row, group *WriteGroup) (Summary, error) {
	defer e.reset()
	e.table.set(rows)
	out := &summed{w: w}
	f := e.begin(out)
	if group != nil {
		groupJSON, err := json.Marshal(group)
		if err != nil {
			return Summary{}, fmt.Errorf("encode the footer: %w", err)
		}
		// The checksum comes last, because text of others is in what comes before it.
		f.meta.KeyValueMetadata = append(f.meta.KeyValueMetadata, format.KeyValue{Key: metaGroup, Value: string(groupJSON)},
			format.KeyValue{Key: metaSeal, Value: unsealed})
		f.sealed = true
	}
	order := e.table.sorted()
	size := e.rowGroupSize(len(rows))
	for begin := 0; begin < len(order); begin += size {
		for _, part := range e.split(order[begin:min(begin+size, len(order))], rows) {
			if err := f.group(&rowOrder{part, len(part) == len(order)}); err != nil {
				return Summary{}, err
			}
		}
	}
	starts := e.table.start.values
	err := f.finish()
	return Summary{
		Rows: int64(len(rows)), MinStartNS: slices.Min(starts), MaxStartNS: slices.Max(starts),
		Bytes: out.n, GroupBytes: largestGroups(f.meta.RowGroups), Checksum: FormatChecksum(out.sum),
	}, err
}

// split parts rows into row groups. Other programs want few and large ones.
func (e *Encoder) split(order []int32, rows []*methodspan.Row) [][]int32 {
	if e.table.end.required {
		return [][]int32{order}
	}
	return splitCounts(order, e.groupCounts, func(i int) bool { return rows[order[i]].Kind == methodspan.KindCounts })
}

// fileEncoder is a file under way.
type fileEncoder struct {
	*Encoder
	w      io.Writer
	meta   format.FileMetaData
	offset int64  // of what is written already
	sealed bool   // whether the footer says the file's checksum
	sum    uint32 // of what is written already, then
}

func (e *Encoder) begin(w io.Writer) *fileEncoder {
	f := &fileEncoder{Encoder: e, w: w, meta: schema()} // a copy
	if e.table.end.required {
		f.meta = fullSchema()
	}
	f.meta.Version = 2
	f.meta.CreatedBy = "corehour version " + strconv.Itoa(SchemaVersion)
	f.meta.KeyValueMetadata = []format.KeyValue{
		{Key: metaGamma, Value: strconv.FormatFloat(methodspan.Gamma, 'g', -1, 64)},
		{Key: metaSchema, Value: strconv.Itoa(SchemaVersion)},
	}
	e.out = append(e.out[:0], magic...)
	return f
}

// group writes rows of the table as a row group.
func (f *fileEncoder) group(order *rowOrder) error {
	g := f.newGroup(len(order.rows))
	for i := range f.columns {
		if err := f.column(i, order, g); err != nil {
			return err
		}
	}
	f.note(g)
	return nil
}

func (f *fileEncoder) newGroup(rows int) *format.RowGroup {
	return &format.RowGroup{NumRows: int64(rows), SortingColumns: f.sorting, Columns: make([]format.ColumnChunk, len(f.columns))}
}

// column writes one column of a row group. The columns of a row group need not lie side
// by side, but come in their order.
func (f *fileEncoder) column(i int, order *rowOrder, g *format.RowGroup) error {
	offset := f.offset + int64(len(f.out))
	if i == 0 {
		g.FileOffset = offset
	}
	c, meta := &f.columns[i], &g.Columns[i].MetaData
	f.chunk.reset()
	f.chunk.codec, f.chunk.decided = c.codec, c.decided
	c.encode(&f.chunk, order)
	if len(f.chunk.dictionary) > math.MaxInt32/2 || len(f.chunk.data) > math.MaxInt32/2 {
		return fmt.Errorf("column %s is too large for a page", c.path[0])
	}
	meta.PathInSchema = c.path
	meta.Type = schemaTypes()[i]
	f.out = f.chunk.write(f.out, offset, meta)
	c.codec, c.decided = f.chunk.codec, f.chunk.decided
	g.TotalByteSize += meta.TotalUncompressedSize
	g.TotalCompressedSize += meta.TotalCompressedSize
	if len(f.out) < bufferBytes {
		return nil
	}
	if _, err := f.w.Write(f.out); err != nil {
		return err
	}
	f.offset += int64(len(f.out))
	f.summed()
	f.out = f.out[:0]
	return nil
}

// summed adds what is in the buffer to the checksum.
func (f *fileEncoder) summed() {
	if f.sealed {
		f.sum = crc32.Update(f.sum, castagnoli, f.out)
	}
}

// note adds a row group to what the footer will say.
func (f *fileEncoder) note(g *format.RowGroup) {
	g.Ordinal = int16(len(f.meta.RowGroups))
	f.meta.RowGroups = append(f.meta.RowGroups, *g)
	f.meta.NumRows += g.NumRows
}

// largestGroups is how many bytes the largest row group has before compression, together with
// the largest of counts, which is read next to it.
func largestGroups(groups []format.RowGroup) int64 {
	var others, counts int64
	for i := range groups {
		if g := &groups[i]; onlyCounts(g) {
			counts = max(counts, g.TotalByteSize)
		} else {
			others = max(others, g.TotalByteSize)
		}
	}
	return others + counts
}

// finish writes the footer.
func (f *fileEncoder) finish() error {
	var footer bytes.Buffer
	var protocol thrift.CompactProtocol
	if err := thrift.NewEncoder(protocol.NewWriter(&footer)).Encode(&f.meta); err != nil {
		return fmt.Errorf("encode the footer: %w", err)
	}
	f.summed()
	begin := len(f.out)
	f.out = append(f.out, footer.Bytes()...)
	f.out = binary.LittleEndian.AppendUint32(f.out, uint32(footer.Len()))
	f.out = append(f.out, magic...)
	if f.sealed {
		if err := writeFooterSum(f.sum, f.out[begin:]); err != nil {
			return err
		}
	}
	_, err := f.w.Write(f.out)
	return err
}

// rowGroupSize is how many rows go into a row group.
func (e *Encoder) rowGroupSize(rows int) int {
	weight := 0
	for _, c := range e.columns {
		if s, ok := c.column.(*stringColumn); ok {
			n := 0
			for _, v := range s.values {
				n += len(v)
			}
			weight = max(weight, n)
		}
	}
	for _, bins := range e.table.bins {
		weight += bins.count() * binWeight
	}
	return max(1, min(e.groupRows, rows/(1+weight/e.groupWeight)))
}

// reset lets go of the rows.
func (e *Encoder) reset() {
	e.clear()
	for i := range e.columns {
		e.columns[i].decided = false
	}
}

// clear makes the table empty.
func (e *Encoder) clear() {
	e.table.resources.reset()
	for i := range e.columns {
		e.columns[i].reset()
	}
}
