package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go/compress/zstd"
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
}

func newEncoder() *encoder {
	e := &encoder{table: newTable(), groupRows: rowGroupRows}
	e.columns = e.table.columns()
	e.chunk.zstd = zstd.Codec{Level: zstd.SpeedFastest}
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
	meta := schema() // a copy
	meta.Version = 2
	meta.NumRows = int64(len(rows))
	meta.CreatedBy = "corehour version " + strconv.Itoa(SchemaVersion)
	groupJSON, err := json.Marshal(group)
	if err != nil {
		return fmt.Errorf("encode the footer: %w", err)
	}
	meta.KeyValueMetadata = []format.KeyValue{
		{Key: metaGamma, Value: strconv.FormatFloat(methodspan.Gamma, 'g', -1, 64)},
		{Key: metaSchema, Value: strconv.Itoa(SchemaVersion)},
		{Key: metaGroup, Value: string(groupJSON)},
	}

	e.out = append(e.out[:0], magic...)
	var offset int64 // of what is written already
	order := e.table.sorted()
	size := e.rowGroupSize(len(rows))
	for begin := 0; begin < len(order); begin += size {
		part := order[begin:min(begin+size, len(order))]
		rowGroup, n, err := e.encodeGroup(w, &rowOrder{part, len(part) == len(order)}, offset)
		if err != nil {
			return err
		}
		offset = n
		rowGroup.Ordinal = int16(len(meta.RowGroups))
		meta.RowGroups = append(meta.RowGroups, *rowGroup)
	}

	var footer bytes.Buffer
	var protocol thrift.CompactProtocol
	if err := thrift.NewEncoder(protocol.NewWriter(&footer)).Encode(&meta); err != nil {
		return fmt.Errorf("encode the footer: %w", err)
	}
	e.out = append(e.out, footer.Bytes()...)
	e.out = binary.LittleEndian.AppendUint32(e.out, uint32(footer.Len()))
	e.out = append(e.out, magic...)
	_, err = w.Write(e.out)
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
	return max(1, min(e.groupRows, rows/(1+text/rowGroupText)))
}

// encodeGroup writes one row group and tells where in the file the next begins.
// The end of it may be in e.out still.
func (e *encoder) encodeGroup(w io.Writer, order *rowOrder, offset int64) (*format.RowGroup, int64, error) {
	rg := &format.RowGroup{
		NumRows: int64(len(order.rows)), SortingColumns: e.sorting, FileOffset: offset + int64(len(e.out)),
		Columns: make([]format.ColumnChunk, len(e.columns)),
	}
	for i := range e.columns {
		c := &e.columns[i]
		e.chunk.reset()
		e.chunk.codec, e.chunk.decided = c.codec, c.decided
		c.encode(&e.chunk, order)
		if len(e.chunk.dictionary) > math.MaxInt32/2 || len(e.chunk.data) > math.MaxInt32/2 {
			return nil, 0, fmt.Errorf("column %s is too large for a page", c.path[0])
		}
		meta := &rg.Columns[i].MetaData
		meta.PathInSchema = c.path
		meta.Type = schemaTypes()[i]
		e.out = e.chunk.write(e.out, offset+int64(len(e.out)), meta)
		c.codec, c.decided = e.chunk.codec, e.chunk.decided
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

// reset lets go of the rows.
func (e *encoder) reset() {
	e.table.resources.reset()
	for i := range e.columns {
		e.columns[i].reset()
		e.columns[i].decided = false
	}
}
