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

// WriteGroup lists the files that one Write made together and the items that they store. The footer of
// a raw file contains it, so that a start can recover a file that no manifest lists yet.
type WriteGroup struct {
	Files []string          `json:"files"` // relative to the root, with forward slashes
	Items map[string]string `json:"items"`
}

// parseGroup parses the WriteGroup in the footer of a file and checks its file names.
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
	// rowGroupRows is the maximum number of rows of a row group. It is DuckDB's own size, so that each
	// of its threads gets a row group.
	rowGroupRows = 122_880
	// rowGroupWeight bounds the bytes of names of a column in one row group, because a
	// page holds less than 2 GiB.
	rowGroupWeight = 256 << 20
	// rowGroupBins bounds the histogram bins in one row group. A row can have hundreds of bins, and a
	// reader of a row group has all of them in memory.
	rowGroupBins = 1 << 20
	// binWeight is the weight of a bin, which is added to the bytes of names.
	binWeight = rowGroupWeight / rowGroupBins
	// rowGroupCounts is the minimum number of counts rows that get a row group of their own.
	rowGroupCounts = 4096
	// bufferBytes is the size at which encoded bytes are written to the file.
	bufferBytes = 1 << 20

	magic = "PAR1"
)

// Encoder encodes rows as Parquet files. It works column by column and reads each row once, which makes
// it several times as fast as the library's own writer. Pages, encodings and compression are the
// library's. It reuses its buffers.
type Encoder struct {
	table   *table
	columns []leaf
	chunk   chunk
	out     []byte
	sorting []format.SortingColumn

	groupRows   int // maximum rows of a row group
	groupWeight int // maximum weight of a row group: bytes of names, and bins
	groupCounts int // minimum rows of a row group of counts
}

// NewEncoder returns an Encoder with the limits of the warehouse's own files.
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

// Encode sorts the rows, which must all belong to one date, and writes them to w as one file. If group
// is not nil, the footer contains it and the checksum of the file.
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
		// The checksum comes last, so that names and ids before it cannot be taken for it.
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

// split splits sorted rows into row groups. Files for other programs get few, large row groups.
func (e *Encoder) split(order []int32, rows []*methodspan.Row) [][]int32 {
	if e.table.end.required {
		return [][]int32{order}
	}
	return splitCounts(order, e.groupCounts, func(i int) bool { return rows[order[i]].Kind == methodspan.KindCounts })
}

// fileEncoder encodes one file.
type fileEncoder struct {
	*Encoder
	w      io.Writer
	meta   format.FileMetaData
	offset int64  // bytes written so far
	sealed bool   // the footer contains the file's checksum
	sum    uint32 // checksum of the bytes written so far, if sealed
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

// group writes the given rows of the table as a row group.
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

// column writes column i of row group g. The columns of a row group need not be adjacent in the file,
// but must be written in their order.
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

// summed adds the bytes of the buffer to the checksum.
func (f *fileEncoder) summed() {
	if f.sealed {
		f.sum = crc32.Update(f.sum, castagnoli, f.out)
	}
}

// note adds a row group to the footer.
func (f *fileEncoder) note(g *format.RowGroup) {
	g.Ordinal = int16(len(f.meta.RowGroups))
	f.meta.RowGroups = append(f.meta.RowGroups, *g)
	f.meta.NumRows += g.NumRows
}

// largestGroups returns the uncompressed size in bytes of the largest row group of counts plus that of
// the largest other row group, because a reader has one of each in memory.
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

// rowGroupSize returns the number of rows of each row group of a file with the given number of rows.
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

// reset releases the rows and forgets the codecs chosen for the columns.
func (e *Encoder) reset() {
	e.clear()
	for i := range e.columns {
		e.columns[i].decided = false
	}
}

// clear removes all rows from the table.
func (e *Encoder) clear() {
	e.table.resources.reset()
	for i := range e.columns {
		e.columns[i].reset()
	}
}
