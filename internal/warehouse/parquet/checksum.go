package parquet

import (
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the checksum of data in the format of manifests.
func Checksum(data []byte) string { return FormatChecksum(crc32.Checksum(data, castagnoli)) }

// FormatChecksum formats a CRC-32C as in manifests.
func FormatChecksum(sum uint32) string { return fmt.Sprintf("crc32c:%08x", sum) }

// summed counts and checksums the bytes written to a file.
type summed struct {
	w   io.Writer
	sum uint32
	n   int64
}

func (s *summed) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.sum = crc32.Update(s.sum, castagnoli, p[:n])
	s.n += int64(n)
	return n, err
}
