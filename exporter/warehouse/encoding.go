package warehouse

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"

	"github.com/corehour/corehour/internal/methodspan"
)

// encoding is the format of requests in a persistent queue: a version, a table of the strings, a table of the
// resources, and the items with references to both. Unknown values take no space.
type encoding struct{ damaged func() }

// Marshal implements the queue's encoding. The context is not kept.
func (encoding) Marshal(_ context.Context, req xexporterhelper.Request) ([]byte, error) {
	r, ok := req.(*request)
	if !ok {
		return nil, fmt.Errorf("can't encode a %T", req)
	}
	e := encoder{layout: rowLayout(), strings: map[string]uint64{"": 0}, resources: map[*methodspan.Resource]uint64{nil: 0}}
	e.items(r.items)
	out := binary.AppendUvarint([]byte{encodingVersion}, uint64(e.nStrings))
	out = append(out, e.table...)
	out = binary.AppendUvarint(out, uint64(e.nResources))
	out = append(out, e.resourceTable...)
	return append(out, e.body...), nil
}

// encoder collects the tables while it writes the body.
type encoder struct {
	layout        *layout
	strings       map[string]uint64
	resources     map[*methodspan.Resource]uint64
	table         []byte
	resourceTable []byte
	body          []byte
	nStrings      int
	nResources    int
}

func (e *encoder) string(dst []byte, s string) []byte {
	n, ok := e.strings[s]
	if !ok {
		e.nStrings++
		n = uint64(e.nStrings)
		e.strings[s] = n
		e.table = binary.AppendUvarint(e.table, uint64(len(s)))
		e.table = append(e.table, s...)
	}
	return binary.AppendUvarint(dst, n)
}

func (e *encoder) resource(r *methodspan.Resource) uint64 {
	n, ok := e.resources[r]
	if !ok {
		e.nResources++
		n = uint64(e.nResources)
		e.resources[r] = n
		part := unsafe.Pointer(r)
		for _, f := range e.layout.resource.texts {
			e.resourceTable = e.string(e.resourceTable, *f.At(part))
		}
		for _, f := range e.layout.resource.longs {
			e.resourceTable = binary.AppendVarint(e.resourceTable, *f.At(part))
		}
	}
	return n
}

func appendFloat(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

func (e *encoder) items(items []methodspan.Item) {
	e.body = binary.AppendUvarint(e.body, uint64(len(items)))
	for i := range items {
		item := &items[i]
		e.body = e.string(e.body, item.ID)
		e.body = binary.AppendUvarint(e.body, uint64(len(item.Folds)))
		for _, id := range item.Folds {
			e.body = e.string(e.body, id)
		}
		e.body = binary.AppendUvarint(e.body, uint64(len(item.Rows)))
		for j := range item.Rows {
			e.row(&item.Rows[j])
		}
	}
}

func (e *encoder) row(r *methodspan.Row) {
	l, part := e.layout, unsafe.Pointer(r)
	var mask uint64
	set := func(bit uint64, has bool) {
		if has {
			mask |= bit
		}
	}
	for _, f := range l.doubles {
		set(f.bit, math.Float64bits(*f.At(part)) != 0)
	}
	for _, f := range l.histograms {
		set(f.bit, len(*f.At(part)) > 0)
	}
	for _, f := range l.prices {
		set(f.bit, *f.At(part) != nil)
	}
	set(l.processBit, r.Process != nil)
	for _, f := range l.ids16 {
		set(f.bit, *f.At(part) != [16]byte{})
	}
	for _, f := range l.ids8 {
		set(f.bit, *f.At(part) != [8]byte{})
	}

	b := binary.AppendUvarint(e.body, mask)
	b = binary.AppendUvarint(b, e.resource(r.Resource))
	for _, f := range l.texts {
		b = e.string(b, *f.At(part))
	}
	b = binary.AppendVarint(b, r.StartNS)
	b = binary.AppendVarint(b, r.EndNS-r.StartNS)
	b = binary.AppendVarint(b, int64(r.RowSeq))
	for _, f := range l.longs {
		b = binary.AppendVarint(b, *f.At(part))
	}
	for _, f := range l.doubles {
		if mask&f.bit != 0 {
			b = appendFloat(b, *f.At(part))
		}
	}
	for _, f := range l.histograms {
		if mask&f.bit != 0 {
			h := *f.At(part)
			b = binary.AppendUvarint(b, uint64(len(h)))
			for _, bin := range h {
				b = binary.AppendVarint(b, int64(bin.Bin))
				b = appendFloat(b, bin.N)
			}
		}
	}
	for _, f := range l.prices {
		if mask&f.bit != 0 {
			b = appendFloat(b, **f.At(part))
		}
	}
	if r.Process != nil {
		b = e.process(b, r.Process)
	}
	for _, f := range l.ids16 {
		if mask&f.bit != 0 {
			b = append(b, f.At(part)[:]...)
		}
	}
	for _, f := range l.ids8 {
		if mask&f.bit != 0 {
			b = append(b, f.At(part)[:]...)
		}
	}
	e.body = b
}

func (e *encoder) process(b []byte, p *methodspan.ProcessStats) []byte {
	l, part := e.layout.process, unsafe.Pointer(p)
	for _, f := range l.doubles {
		b = appendFloat(b, *f.At(part))
	}
	for _, f := range l.longs {
		b = binary.AppendVarint(b, *f.At(part))
	}
	for _, f := range l.bools {
		flag := byte(0)
		if *f.At(part) {
			flag = 1
		}
		b = append(b, flag)
	}
	for _, f := range l.stats {
		stats := *f.At(part)
		b = binary.AppendUvarint(b, uint64(len(stats)))
		for _, s := range stats {
			b = e.string(b, s.Name)
			b = appendFloat(b, s.Value)
		}
	}
	return b
}
