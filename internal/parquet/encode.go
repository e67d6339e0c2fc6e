package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// Keys of the metadata in a file's footer.
const (
	metaSchema = "corehour.schema_version"
	metaGamma  = "corehour.histogram_gamma"
	metaGroup  = "corehour.write"
)

// writeGroup says which files one Write made together and which items they
// settle. It is what a start needs to adopt a file that no manifest names yet.
type writeGroup struct {
	Files []string          `json:"files"` // below the root, with forward slashes
	Items map[string]string `json:"items"`
}

const (
	// rowGroupRows is how many rows a row group has at most: DuckDB's own size,
	// so that its threads get one each.
	rowGroupRows = 122_880
	// rowGroupText bounds the names of a column in one row group, because a page
	// holds less than 2 GiB.
	rowGroupText = 256 << 20
	// bufferBytes is how much is encoded before it is written.
	bufferBytes = 1 << 20

	magic = "PAR1"
)

// encoder turns rows into files. It goes column by column and looks at a row
// once, which makes it several times as fast as the library's own writer; pages,
// encodings and compression are the library's. It keeps its buffers.
type encoder struct {
	table   *table
	columns []namedColumn
	chunk   chunk
	out     []byte
	sorting []format.SortingColumn

	groupRows int // rows of a row group at most
	groupText int // and bytes of names
}

func newEncoder() *encoder {
	e := &encoder{table: newTable(), groupRows: rowGroupRows, groupText: rowGroupText}
	e.columns = e.table.columns()
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

// encode sorts the rows, which are all of one date, and writes them as one file.
func (e *encoder) encode(w io.Writer, rows []*methodspan.Row, group *writeGroup) error {
	defer e.reset()
	e.table.set(rows)
	f := e.begin(w)
	if group != nil {
		groupJSON, err := json.Marshal(group)
		if err != nil {
			return fmt.Errorf("encode the footer: %w", err)
		}
		f.meta.KeyValueMetadata = append(f.meta.KeyValueMetadata, format.KeyValue{Key: metaGroup, Value: string(groupJSON)})
	}
	order := e.table.sorted()
	size := e.rowGroupSize(len(rows))
	for begin := 0; begin < len(order); begin += size {
		part := order[begin:min(begin+size, len(order))]
		if err := f.group(&rowOrder{part, len(part) == len(order)}); err != nil {
			return err
		}
	}
	return f.finish()
}

// fileEncoder is a file under way.
type fileEncoder struct {
	*encoder
	w      io.Writer
	meta   format.FileMetaData
	offset int64 // of what is written already
}

func (e *encoder) begin(w io.Writer) *fileEncoder {
	f := &fileEncoder{encoder: e, w: w, meta: schema()} // a copy
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
	rowGroup, offset, err := f.encodeGroup(f.w, order, f.offset)
	if err != nil {
		return err
	}
	f.offset = offset
	f.note(rowGroup)
	return nil
}

// note adds a row group to what the footer will say.
func (f *fileEncoder) note(g *format.RowGroup) {
	g.Ordinal = int16(len(f.meta.RowGroups))
	f.meta.RowGroups = append(f.meta.RowGroups, *g)
	f.meta.NumRows += g.NumRows
}

// take writes a row group that was encoded as if it stood at the beginning of a file.
func (f *fileEncoder) take(g *format.RowGroup, data []byte) error {
	if _, err := f.w.Write(f.out); err != nil {
		return err
	}
	f.offset += int64(len(f.out))
	f.out = f.out[:0]
	g.FileOffset = f.offset
	shift := f.offset - int64(len(magic))
	for i := range g.Columns {
		meta := &g.Columns[i].MetaData
		meta.DataPageOffset += shift
		if meta.DictionaryPageOffset != 0 {
			meta.DictionaryPageOffset += shift
		}
		g.TotalByteSize += meta.TotalUncompressedSize
		g.TotalCompressedSize += meta.TotalCompressedSize
	}
	if _, err := f.w.Write(data); err != nil {
		return err
	}
	f.offset += int64(len(data))
	f.note(g)
	return nil
}

// finish writes the footer.
func (f *fileEncoder) finish() error {
	var footer bytes.Buffer
	var protocol thrift.CompactProtocol
	if err := thrift.NewEncoder(protocol.NewWriter(&footer)).Encode(&f.meta); err != nil {
		return fmt.Errorf("encode the footer: %w", err)
	}
	f.out = append(f.out, footer.Bytes()...)
	f.out = binary.LittleEndian.AppendUint32(f.out, uint32(footer.Len()))
	f.out = append(f.out, magic...)
	_, err := f.w.Write(f.out)
	return err
}

// rowGroupSize is how many rows go into a row group.
func (e *encoder) rowGroupSize(rows int) int {
	text := 0
	for _, c := range e.columns {
		if s, ok := c.column.(*stringColumn); ok {
			n := 0
			for _, v := range s.values {
				n += len(v)
			}
			text = max(text, n)
		}
	}
	return max(1, min(e.groupRows, rows/(1+text/e.groupText)))
}

// encodeGroup writes one row group and tells where in the file the next begins.
// The end of it may be in e.out still.
func (e *encoder) encodeGroup(w io.Writer, order *rowOrder, offset int64) (*format.RowGroup, int64, error) {
	rg := &format.RowGroup{
		NumRows: int64(len(order.rows)), SortingColumns: e.sorting, FileOffset: offset + int64(len(e.out)),
		Columns: make([]format.ColumnChunk, len(e.columns)),
	}
	for i := range e.columns {
		var err error
		if e.out, err = e.encodeColumn(i, order, e.out, offset+int64(len(e.out)), &rg.Columns[i]); err != nil {
			return nil, 0, err
		}
		meta := &rg.Columns[i].MetaData
		rg.TotalByteSize += meta.TotalUncompressedSize
		rg.TotalCompressedSize += meta.TotalCompressedSize
		if len(e.out) >= bufferBytes {
			if _, err := w.Write(e.out); err != nil {
				return nil, 0, err
			}
			offset += int64(len(e.out))
			e.out = e.out[:0]
		}
	}
	return rg, offset, nil
}

// encodeColumn appends one column of a row group to out, which ends at offset.
func (e *encoder) encodeColumn(i int, order *rowOrder, out []byte, offset int64, to *format.ColumnChunk) ([]byte, error) {
	c := &e.columns[i]
	e.chunk.reset()
	e.chunk.codec, e.chunk.decided = c.codec, c.decided
	c.encode(&e.chunk, order)
	if len(e.chunk.dictionary) > math.MaxInt32/2 || len(e.chunk.data) > math.MaxInt32/2 {
		return nil, fmt.Errorf("column %s is too large for a page", c.path[0])
	}
	to.MetaData.PathInSchema = c.path
	to.MetaData.Type = schemaTypes()[i]
	out = e.chunk.write(out, offset, &to.MetaData)
	c.codec, c.decided = e.chunk.codec, e.chunk.decided
	return out, nil
}

// reset lets go of the rows.
func (e *encoder) reset() {
	e.clear()
	for i := range e.columns {
		e.columns[i].decided = false
	}
}

// clear makes the table empty.
func (e *encoder) clear() {
	e.table.resources.reset()
	for i := range e.columns {
		e.columns[i].reset()
	}
}
