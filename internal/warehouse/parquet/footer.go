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
	// mostGroupRows is an upper bound; no row group ever had as many rows.
	mostGroupRows = 1 << 20
	// mostExpansion is the maximum expansion of zstd: a block of 128 KiB takes at least 4 bytes.
	mostExpansion = 1 << 15
	// freeExpansion is the additional size allowed for the headers of pages.
	freeExpansion = 64 << 10
	// mostChunk allows a dictionary page and a data page of 1 GiB each, and their headers.
	mostChunk = 2<<30 + freeExpansion
)

// readBuffer returns the size of the buffers for reading a file of the given size. It is no larger than
// the file needs, because collectors write many small files. It is one of a few fixed sizes, because
// the library pools buffers by size.
func readBuffer(size int64) int {
	const least, most = 4 << 10, 256 << 10
	n := least
	for n < most && int64(n) < size {
		n *= 2
	}
	return n
}

// openFile opens a file for reading blocks and checks its footer. The library trusts the sizes in a
// footer, and would exhaust memory for a file in which one bit has changed. openFile therefore refuses
// sizes and types that no file of this program has.
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

// footerEnd is the number of bytes after a footer: its length and the magic.
const footerEnd = 8

// readFooter returns the footer of a file and the footerEnd bytes after it.
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

// checkChunk checks the metadata of one column of a row group with the given rows, in a file of size bytes.
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
	// Each list element takes at least a byte. A row without elements also counts as a value.
	if m.NumValues < 0 || m.NumValues > rows+m.TotalUncompressedSize {
		return fmt.Errorf("%d rows in %d bytes cannot have %d values", rows, m.TotalUncompressedSize, m.NumValues)
	}
	return nil
}

// chunkBegin returns the offset of the first page of a column chunk.
func chunkBegin(m *format.ColumnMetaData) int64 {
	if m.DictionaryPageOffset != 0 {
		return m.DictionaryPageOffset
	}
	return m.DataPageOffset
}
