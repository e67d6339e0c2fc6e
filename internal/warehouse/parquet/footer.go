package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/warehouse"
)

const (
	// mostGroupRows is more than any row group has had.
	mostGroupRows = 1 << 20
	// mostExpansion is what zstd makes of a byte at most: a block of 128 KiB takes four.
	mostExpansion = 1 << 15
	// freeExpansion is what a page may have beyond that for its headers.
	freeExpansion = 64 << 10
	// mostChunk is a dictionary and a page of values, of half of it each, and their headers.
	mostChunk = 2<<30 + freeExpansion
)

// readBuffer is the size of the buffers that a file is read through: no larger than the file
// needs, of which collectors write many small ones, and one of a few, since the library pools
// buffers by size.
func readBuffer(size int64) int {
	const least, most = 4 << 10, 256 << 10
	n := least
	for n < most && int64(n) < size {
		n *= 2
	}
	return n
}

// openFile opens a file for reading blocks. It refuses what no file of this program
// is like, because the library believes what it reads and would take all memory for a
// file of which one bit has changed.
func openFile(r io.ReaderAt, size int64) (file *pq.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("reading it panics: %v", p)
		}
	}()
	footer, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	if _, err := checkThrift(footer[:len(footer)-footerEnd]); err != nil {
		return nil, err
	}
	file, err = pq.OpenFile(r, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true), pq.ReadBufferSize(readBuffer(size)))
	if err != nil {
		return nil, err
	}
	if text, ok := file.Lookup(metaSchema); ok {
		if version, err := strconv.Atoi(text); err == nil && version > SchemaVersion {
			return nil, &warehouse.NewerError{Schema: version, Known: SchemaVersion}
		}
	}
	for _, path := range leafPaths() {
		if _, ok := file.Schema().Lookup(path...); !ok {
			return nil, fmt.Errorf("it has no column %s", strings.Join(path, "."))
		}
	}
	groups := file.Metadata().RowGroups
	var rows int64
	for i := range groups {
		g := &groups[i]
		if g.NumRows < 0 || g.NumRows > mostGroupRows {
			return nil, fmt.Errorf("row group %d has %d rows, which is not in 0 to %d", i, g.NumRows, mostGroupRows)
		}
		rows += g.NumRows
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			if err := checkChunk(m, g.NumRows, size); err != nil {
				return nil, fmt.Errorf("row group %d, column %s: %w", i, strings.Join(m.PathInSchema, "."), err)
			}
		}
	}
	if rows != file.NumRows() {
		return nil, fmt.Errorf("it has %d rows in its row groups and %d in all", rows, file.NumRows())
	}
	return file, nil
}

// footerEnd is how much follows a footer: its length and the magic.
const footerEnd = 8

// readFooter reads the footer of a file and what follows it.
func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	var end [footerEnd]byte
	if size < int64(len(magic)+footerEnd) {
		return nil, errors.New("it is too short for a file of Parquet")
	}
	if _, err := r.ReadAt(end[:], size-footerEnd); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != magic || length > size-int64(len(magic)+footerEnd) {
		return nil, errors.New("it does not end as a file of Parquet does")
	}
	footer := make([]byte, length+footerEnd)
	if _, err := r.ReadAt(footer, size-int64(len(footer))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return footer, nil
}

// checkChunk looks at what a footer says of one column of a row group.
func checkChunk(m *format.ColumnMetaData, rows, size int64) error {
	if m.Codec != format.Uncompressed && m.Codec != format.Zstd {
		return fmt.Errorf("its codec is %s, which no file of a warehouse has: want %s or %s", m.Codec, format.Zstd, format.Uncompressed)
	}
	begin := chunkBegin(m)
	if begin < 0 || m.TotalCompressedSize < 0 || begin > size || m.TotalCompressedSize > size-begin {
		return fmt.Errorf("%d bytes at %d are beyond the end of the file", m.TotalCompressedSize, begin)
	}
	if m.TotalUncompressedSize < 0 || m.TotalUncompressedSize > min(mostChunk, mostExpansion*m.TotalCompressedSize+freeExpansion) {
		return fmt.Errorf("%d bytes cannot be %d unpacked", m.TotalCompressedSize, m.TotalUncompressedSize)
	}
	// An element of a list takes a byte at least, in addition to a row that has none.
	if m.NumValues < 0 || m.NumValues > rows+m.TotalUncompressedSize {
		return fmt.Errorf("%d rows in %d bytes cannot have %d values", rows, m.TotalUncompressedSize, m.NumValues)
	}
	return nil
}

// chunkBegin is where the first page of a column of a row group is.
func chunkBegin(m *format.ColumnMetaData) int64 {
	if m.DictionaryPageOffset != 0 {
		return m.DictionaryPageOffset
	}
	return m.DataPageOffset
}
