package parquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// column holds its values for all rows of a file, in arrival order, and writes one chunk of them for each
// row group.
type column interface {
	reset()
	// forget drops all values, and releases the buffers too.
	forget()
	// encode writes the rows of the group, in its order, as one chunk.
	encode(b *chunk, group *rowOrder)
}

// rowOrder lists the rows of a row group in their order.
type rowOrder struct {
	rows []int32
	all  bool // the group holds every row of the file
}

// chunk builds the pages of one column in one row group: at most one dictionary page and one data page,
// because a row group is small enough. All columns share its buffers.
type chunk struct {
	// Set by the column.
	dictionary []byte // PLAIN, empty if there is none
	entries    int    // in the dictionary
	repeats    []byte // repetition levels, encoded; empty for flat columns
	levels     []byte // definition levels, encoded; empty for required columns
	data       []byte
	encoding   format.Encoding
	values     int // levels, nulls included
	nulls      int
	random     bool // not worth compressing
	min, max   []byte
	// codec is chosen for the column's first row group and kept for the others: some readers do not read
	// it again.
	codec   format.CompressionCodec
	decided bool
	// plain omits features that some readers lack: delta encodings, pages of version 2.
	plain bool

	// Scratch.
	indexes []int32
	longs   []int64
	ints    []int32
	defs    []byte
	reps    []byte
	packed  [2][]byte
	zstd    *zstd.Encoder
	header  bytes.Buffer
}

// reset prepares the chunk for a column's next row group. The encoder sets codec and decided.
func (b *chunk) reset() {
	b.dictionary, b.repeats, b.levels, b.data = b.dictionary[:0], b.repeats[:0], b.levels[:0], b.data[:0]
	b.entries, b.values, b.nulls, b.random = 0, 0, 0, false
	b.encoding = format.Plain
	b.min, b.max = nil, nil
}

// bounds sets the statistics. Long bounds are omitted: they would only help to skip files whose names differ
// late.
func (b *chunk) bounds(low, high []byte) {
	const longest = 256
	if len(low) <= longest && len(high) <= longest {
		b.min, b.max = low, high
	}
}

// constantLevel encodes n equal levels of one bit, or n equal indexes.
func constantLevel(dst []byte, n int, level byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	return append(dst, level)
}

// setLevels encodes the definition levels of an optional column from one byte
// per row: 1 where it has a value.
func (b *chunk) setLevels(defs []byte) {
	b.nulls = bytes.Count(defs, []byte{0})
	b.values = len(defs)
	switch b.nulls {
	case 0:
		b.levels = constantLevel(b.levels, len(defs), 1)
	case len(defs):
		b.levels = constantLevel(b.levels, len(defs), 0)
	default:
		b.levels = encodeLevels(b.levels, defs, 1)
	}
}

func encodeLevels(dst, levels []byte, bitWidth int) []byte {
	e := rle.Encoding{BitWidth: bitWidth}
	dst, err := e.EncodeLevels(dst, levels)
	if err != nil { // only for a width that levels can't have
		panic(err)
	}
	return dst
}

// worthCompressing is the minimum size for an attempt to compress.
const worthCompressing = 48

// write appends the pages to out, which ends at offset in the file, and fills meta with their description.
func (b *chunk) write(out []byte, offset int64, meta *format.ColumnMetaData) []byte {
	leveled := len(b.levels)+len(b.repeats) > 0
	if b.plain {
		b.levelsIntoData()
	}
	dictionary, data := b.dictionary, b.data
	if !b.decided || b.codec == format.Zstd {
		dictionary, data = b.choose()
	}
	begin := len(out)
	uncompressed := 0
	meta.Codec = b.codec
	meta.NumValues = int64(b.values)
	meta.Statistics = format.Statistics{NullCount: int64(b.nulls), MinValue: b.min, MaxValue: b.max}
	meta.Encoding = meta.Encoding[:0]
	if b.entries > 0 {
		meta.DictionaryPageOffset = offset
		meta.Encoding = append(meta.Encoding, format.Plain)
		out = b.page(out, &format.PageHeader{
			Type:                 format.DictionaryPage,
			UncompressedPageSize: int32(len(b.dictionary)),
			CompressedPageSize:   int32(len(dictionary)),
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(b.entries), Encoding: format.Plain}),
		}, dictionary)
		uncompressed = len(out) - begin - len(dictionary) + len(b.dictionary)
	}
	second := len(out)
	meta.DataPageOffset = offset + int64(second-begin)
	if leveled {
		meta.Encoding = append(meta.Encoding, format.RLE)
	}
	if b.encoding != format.Plain || b.entries == 0 {
		meta.Encoding = append(meta.Encoding, b.encoding)
	}
	rows := b.values
	if len(b.repeats) > 0 && b.nulls < b.values {
		rows = bytes.Count(b.reps, []byte{0})
	}
	levels := len(b.repeats) + len(b.levels)
	header := &format.PageHeader{
		Type:                 format.DataPageV2,
		UncompressedPageSize: int32(levels + len(b.data)),
		CompressedPageSize:   int32(levels + len(data)),
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
			NumValues: int32(b.values), NumNulls: int32(b.nulls), NumRows: int32(rows), Encoding: b.encoding,
			DefinitionLevelsByteLength: int32(len(b.levels)), RepetitionLevelsByteLength: int32(len(b.repeats)),
			IsCompressed: thrift.New(b.codec != format.Uncompressed && len(data) > 0),
		}),
	}
	if b.plain {
		b.firstVersion(header)
	}
	out = b.page(out, header, b.repeats, b.levels, data)
	meta.TotalCompressedSize = int64(len(out) - begin)
	meta.TotalUncompressedSize = int64(uncompressed + len(out) - second - len(data) + len(b.data))
	return out
}

// choose compresses the parts that shrink enough or must be compressed.
func (b *chunk) choose() (dictionary, data []byte) {
	raw := len(b.dictionary) + len(b.data)
	if !b.decided {
		b.codec, b.decided = format.Uncompressed, true
		if b.random || raw < worthCompressing {
			return b.dictionary, b.data
		}
		dictionary, data = b.compress(0, b.dictionary), b.compress(1, b.data)
		if len(dictionary)+len(data) >= raw*19/20 {
			return b.dictionary, b.data
		}
		b.codec = format.Zstd
		return dictionary, data
	}
	return b.compress(0, b.dictionary), b.compress(1, b.data)
}

func (b *chunk) compress(buffer int, raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	packed := b.zstd.EncodeAll(raw, b.packed[buffer][:0])
	b.packed[buffer] = packed
	return packed
}

func (b *chunk) page(out []byte, header *format.PageHeader, parts ...[]byte) []byte {
	b.header.Reset()
	var protocol thrift.CompactProtocol
	if err := thrift.NewEncoder(protocol.NewWriter(&b.header)).Encode(header); err != nil { // a buffer has none
		panic(err)
	}
	out = append(out, b.header.Bytes()...)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func appendLong(dst []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(v)) }

func appendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}
