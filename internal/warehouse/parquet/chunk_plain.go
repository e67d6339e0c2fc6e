package parquet

import (
	"bytes"
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// plainLongs writes the data without delta encoding.
func (b *chunk) plainLongs(values []int64) {
	b.encoding, b.random = format.Plain, false
	for _, v := range values {
		b.data = appendLong(b.data, v)
	}
}

func (b *chunk) plainInts(values []int32) {
	b.encoding, b.random = format.Plain, false
	for _, v := range values {
		b.data = binary.LittleEndian.AppendUint32(b.data, uint32(v))
	}
}

// levelsIntoData moves the levels to their place in pages of version 1: before the values, each with its
// length, and compressed with them.
func (b *chunk) levelsIntoData() {
	if len(b.repeats)+len(b.levels) == 0 {
		return
	}
	var page bytes.Buffer
	for _, levels := range [...][]byte{b.repeats, b.levels} {
		if len(levels) > 0 {
			page.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))))
			page.Write(levels)
		}
	}
	page.Write(b.data)
	b.data = append(b.data[:0], page.Bytes()...)
	b.repeats, b.levels = b.repeats[:0], b.levels[:0]
}

// firstVersion turns the header into that of a page of version 1.
func (b *chunk) firstVersion(header *format.PageHeader) {
	header.Type = format.DataPage
	header.DataPageHeaderV2 = thrift.Null[format.DataPageHeaderV2]{}
	header.DataPageHeader = thrift.New(format.DataPageHeader{
		NumValues: int32(b.values), Encoding: b.encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})
}
