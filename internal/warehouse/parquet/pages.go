package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// unpacker decompresses into the capacity of the given buffer and fails if the data is larger.
var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil { // only invalid options give an error
		panic(err)
	}
	return d
})

// checkPages checks the pages of a file that was not verified against a checksum. It fails if a page does
// not contain the expected number of values: each run of values contains its own length, and the
// library allocates memory for all of them.
func checkPages(r io.ReaderAt, file *pq.File) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading it panics: %v", p)
		}
	}()
	var chunk []byte
	for i, g := range file.Metadata().RowGroups {
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			leaf, ok := file.Schema().Lookup(m.PathInSchema...)
			if !ok {
				return fmt.Errorf("row group %d has a column %s that its schema has not", i, strings.Join(m.PathInSchema, "."))
			}
			if int64(cap(chunk)) < m.TotalCompressedSize {
				chunk = make([]byte, m.TotalCompressedSize)
			}
			chunk = chunk[:m.TotalCompressedSize]
			if _, err := r.ReadAt(chunk, chunkBegin(m)); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			c := pageChecker{meta: m, rows: g.NumRows, levels: [2]int{leaf.MaxRepetitionLevel, leaf.MaxDefinitionLevel}}
			if err := c.check(chunk); err != nil {
				return fmt.Errorf("row group %d, column %s: %w", i, strings.Join(m.PathInSchema, "."), err)
			}
		}
	}
	return nil
}

// pageChecker checks the pages of one column of a row group.
type pageChecker struct {
	meta   *format.ColumnMetaData
	rows   int64
	levels [2]int // maximum repetition level and definition level

	values   int64
	unpacked int64
}

var errRuns = errors.New("a page has other values than it says")

func (c *pageChecker) check(chunk []byte) error {
	for len(chunk) > 0 {
		length, err := checkThrift(chunk)
		if err != nil {
			return err
		}
		var h format.PageHeader
		var protocol thrift.CompactProtocol
		if err := thrift.NewDecoder(protocol.NewReaderFromBytes(chunk[:length])).Decode(&h); err != nil {
			return err
		}
		chunk = chunk[length:]
		c.unpacked += int64(length) + int64(h.UncompressedPageSize)
		if h.CompressedPageSize < 0 || int(h.CompressedPageSize) > len(chunk) ||
			h.UncompressedPageSize < 0 || c.unpacked > c.meta.TotalUncompressedSize {
			return fmt.Errorf("a page of %d bytes, %d unpacked, is beyond the end of the column", h.CompressedPageSize, h.UncompressedPageSize)
		}
		page := chunk[:h.CompressedPageSize]
		chunk = chunk[h.CompressedPageSize:]
		switch h.Type {
		case format.DictionaryPage:
			err = c.dictionary(&h, page)
		case format.DataPage:
			err = c.first(&h, page)
		case format.DataPageV2:
			err = c.second(&h, page)
		default:
			err = fmt.Errorf("a page is of the kind %s", h.Type)
		}
		if err != nil {
			return err
		}
	}
	if c.values != c.meta.NumValues || c.levels[0] == 0 && c.values != c.rows {
		return fmt.Errorf("its pages have %d values, want %d for %d rows", c.values, c.meta.NumValues, c.rows)
	}
	return nil
}

// unpack returns the decompressed bytes of a page, which must be size bytes.
func (c *pageChecker) unpack(page []byte, size int) ([]byte, error) {
	if c.meta.Codec == format.Zstd && (size > 0 || len(page) > 0) {
		if size > mostExpansion*len(page)+freeExpansion {
			return nil, fmt.Errorf("%d bytes cannot be %d unpacked", len(page), size)
		}
		var err error
		if page, err = unpacker().DecodeAll(page, make([]byte, 0, size)); err != nil {
			return nil, err
		}
	}
	if len(page) != size {
		return nil, fmt.Errorf("a page has %d bytes unpacked, not %d", len(page), size)
	}
	return page, nil
}

func (c *pageChecker) dictionary(h *format.PageHeader, page []byte) error {
	entries := int64(h.DictionaryPageHeader.V.NumValues)
	if _, err := c.unpack(page, int(h.UncompressedPageSize)); err != nil {
		return err
	}
	if !h.DictionaryPageHeader.Valid || entries < 0 || entries > int64(h.UncompressedPageSize) {
		return fmt.Errorf("a dictionary of %d bytes has %d values", h.UncompressedPageSize, entries)
	}
	return checkEncoding(h.DictionaryPageHeader.V.Encoding, nil, 0)
}

// first checks a page of version 1: the levels come before the values, each with its length.
func (c *pageChecker) first(h *format.PageHeader, page []byte) error {
	n, err := c.count(h.DataPageHeader.V.NumValues, h.DataPageHeader.Valid)
	if err != nil {
		return err
	}
	if page, err = c.unpack(page, int(h.UncompressedPageSize)); err != nil {
		return err
	}
	for _, highest := range c.levels {
		if highest == 0 {
			continue
		}
		if len(page) < 4 || uint64(binary.LittleEndian.Uint32(page)) > uint64(len(page)-4) {
			return errRuns
		}
		end := 4 + int(binary.LittleEndian.Uint32(page))
		if err := checkRuns(page[4:end], bits.Len(uint(highest)), n); err != nil {
			return err
		}
		page = page[end:]
	}
	return checkEncoding(h.DataPageHeader.V.Encoding, page, n)
}

// second checks a page of version 2: the levels are not compressed.
func (c *pageChecker) second(h *format.PageHeader, page []byte) error {
	v := &h.DataPageHeaderV2.V
	n, err := c.count(v.NumValues, h.DataPageHeaderV2.Valid)
	if err != nil {
		return err
	}
	if v.NumNulls < 0 || int64(v.NumNulls) > n || v.NumRows < 0 || int64(v.NumRows) > min(n, c.rows) {
		return fmt.Errorf("a page of %d values has %d rows, %d without a value", n, v.NumRows, v.NumNulls)
	}
	size := int(h.UncompressedPageSize)
	for i, length := range [...]int32{v.RepetitionLevelsByteLength, v.DefinitionLevelsByteLength} {
		if length < 0 || int(length) > min(size, len(page)) {
			return errRuns
		}
		if err := checkRuns(page[:length], bits.Len(uint(c.levels[i])), n); err != nil {
			return err
		}
		page, size = page[length:], size-int(length)
	}
	if packed := v.IsCompressed; !packed.Valid || packed.V {
		if page, err = c.unpack(page, size); err != nil {
			return err
		}
	}
	return checkEncoding(v.Encoding, page, n)
}

// count adds the values of a page to those of the column and returns their number.
func (c *pageChecker) count(values int32, valid bool) (int64, error) {
	c.values += int64(values)
	if !valid || values < 0 || c.values > c.meta.NumValues {
		return 0, fmt.Errorf("its pages have %d values, and %d are too many", c.meta.NumValues, c.values)
	}
	return int64(values), nil
}

// checkEncoding checks that a page contains at most n values.
func checkEncoding(e format.Encoding, page []byte, n int64) error {
	switch e {
	case format.Plain:
		return nil
	case format.RLEDictionary:
		if len(page) == 0 {
			return nil
		}
		if page[0] > 32 {
			return errRuns
		}
		return checkRuns(page[1:], int(page[0]), n)
	case format.RLE: // booleans
		if len(page) < 4 {
			return errRuns
		}
		return checkRuns(page[4:], 1, n)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return checkDelta(page, n)
	}
	return fmt.Errorf("its encoding %s is none that a warehouse's files have", e)
}

// checkRuns checks that data contains runs of at most n values of width bits, plus padding to a multiple of 8.
func checkRuns(data []byte, width int, n int64) error {
	n += 7
	for len(data) > 0 {
		head, size := binary.Uvarint(data)
		if size <= 0 {
			return errRuns
		}
		data = data[size:]
		count, bytes := head>>1, uint64(width+7)/8
		if head&1 == 1 {
			if count > uint64(n) {
				return errRuns
			}
			bytes, count = count*uint64(width), count*8
		}
		if count > uint64(n) || bytes > uint64(len(data)) {
			return errRuns
		}
		n -= int64(count)
		data = data[bytes:]
	}
	return nil
}

// checkDelta checks the header of delta-encoded numbers: the block size, the number of its parts, and the
// number of values, which must be at most n.
func checkDelta(page []byte, n int64) error {
	var head [3]uint64
	for i := range head {
		value, size := binary.Uvarint(page)
		if size <= 0 {
			return errRuns
		}
		head[i], page = value, page[size:]
	}
	if head[0] > 1<<16 || head[1] == 0 || head[1] > head[0] || head[2] > uint64(n) {
		return errRuns
	}
	return nil
}
