package bigquery

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/corehour/corehour/internal/methodspan"
)

// maxRequestBytes bounds a request. The service accepts 10 MB including the schema and the other
// fields.
const maxRequestBytes = 9_000_000

// Field numbers of google.cloud.bigquery.storage.v1.AppendRowsRequest, of its ProtoData, and of a
// wrapped integer.
const (
	requestStream       = 1
	requestOffset       = 2
	requestProtoRows    = 4
	protoDataSchema     = 1
	protoDataRows       = 2
	wrappedValue        = 1
	offsetBytesAtMost   = 12
	requestHeaderAtMost = 512
)

// request holds the rows that are stored together or not at all.
type request struct {
	rows []byte // encoded, one after the other
	ends []int  // offset in rows of the end of each row
	refs []*methodspan.Row

	ids []string // items that are complete once the request is stored
	// part is the item whose rows need several requests; partRows is how many of its rows are
	// stored after this one.
	part     string
	partRows int

	letters []pendingLetter // of rows that were removed from the request
}

// withoutRows returns a copy without the rows at places, which are in ascending order.
func (r *request) withoutRows(places []int) *request {
	out := &request{ids: r.ids, part: r.part, partRows: r.partRows, letters: r.letters}
	begin := 0
	for i, end := range r.ends {
		if len(places) > 0 && places[0] == i {
			places = places[1:]
		} else {
			out.rows = append(out.rows, r.rows[begin:end]...)
			out.ends = append(out.ends, len(out.rows))
			out.refs = append(out.refs, r.refs[i])
		}
		begin = end
	}
	return out
}

// message returns the encoded request. It does not copy the rows.
func (r *request) message(stream string, offset int64, withSchema bool) wireMessage {
	h := make([]byte, 0, requestHeaderAtMost)
	h = protowire.AppendTag(h, requestStream, protowire.BytesType)
	h = protowire.AppendString(h, stream)
	wrapped := make([]byte, 0, offsetBytesAtMost)
	wrapped = protowire.AppendTag(wrapped, wrappedValue, protowire.VarintType)
	wrapped = protowire.AppendVarint(wrapped, uint64(offset))
	h = protowire.AppendTag(h, requestOffset, protowire.BytesType)
	h = protowire.AppendBytes(h, wrapped)

	var data []byte
	if withSchema {
		data = protowire.AppendTag(data, protoDataSchema, protowire.BytesType)
		data = protowire.AppendBytes(data, writerSchema())
	}
	data = protowire.AppendTag(data, protoDataRows, protowire.BytesType)
	data = protowire.AppendVarint(data, uint64(len(r.rows)))
	h = protowire.AppendTag(h, requestProtoRows, protowire.BytesType)
	h = protowire.AppendVarint(h, uint64(len(data)+len(r.rows)))
	h = append(h, data...)
	return wireMessage{h, r.rows}
}

// wireMessage is an encoded message, in pieces.
type wireMessage [][]byte

// codec sends encoded messages unchanged and decodes answers as usual.
type codec struct{}

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	var out mem.BufferSlice
	for _, piece := range v.(wireMessage) {
		out = append(out, mem.SliceBuffer(piece))
	}
	return out, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

func (codec) Name() string { return "proto" }
