package warehouse

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"

	"github.com/corehour/corehour/internal/methodspan"
)

// encoding is how requests look in a persistent queue: a version, a table of the
// strings, a table of the resources, and the items with references to both. What
// a row does not know takes no room.
type encoding struct{ damaged func() }

const (
	encodingVersion = 2
	// withoutHosts is the version without the hosts' ids, cores and limits, still read.
	withoutHosts = 1
)

// Bits of a row's mask, for what most rows don't have.
const (
	hasCalls = 1 << iota
	hasErrors
	hasWallSq
	hasCPUSq
	hasWallHist
	hasCPUHist
	hasP
	hasCPUP
	hasConfiguredRate
	hasEffectiveRate
	hasPrice
	hasProcess
	hasTrace
	hasSpan
	hasParent
)

// Marshal implements the queue's encoding. The context is not kept.
func (encoding) Marshal(_ context.Context, req xexporterhelper.Request) ([]byte, error) {
	r, ok := req.(*request)
	if !ok {
		return nil, fmt.Errorf("can't encode a %T", req)
	}
	e := encoder{strings: map[string]uint64{"": 0}, resources: map[*methodspan.Resource]uint64{nil: 0}}
	e.items(r.items)
	out := binary.AppendUvarint([]byte{encodingVersion}, uint64(e.nStrings))
	out = append(out, e.table...)
	out = binary.AppendUvarint(out, uint64(e.nResources))
	out = append(out, e.resourceTable...)
	return append(out, e.body...), nil
}

// encoder collects the tables while it writes the body.
type encoder struct {
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
		for _, s := range resourceStrings(r) {
			e.resourceTable = e.string(e.resourceTable, *s)
		}
		e.resourceTable = binary.AppendVarint(e.resourceTable, r.ProcessStartNS)
	}
	return n
}

// resourceStrings ends with those that an older version lacks.
func resourceStrings(r *methodspan.Resource) [12]*string {
	return [...]*string{&r.ServiceNamespace, &r.Service, &r.Version, &r.Revision, &r.Environment, &r.Instance,
		&r.Host, &r.HostType, &r.CloudProvider, &r.Region, &r.CapacityType, &r.HostID}
}

func rowStrings(r *methodspan.Row) [15]*string {
	return [...]*string{&r.Kind, &r.Level, &r.Class, &r.Method, &r.Signature, &r.Caller, &r.Stack, &r.Group,
		&r.Stratum, &r.Tier, &r.Reason, &r.WeightBasis, &r.CPUState, &r.PriceSource, &r.RequestID}
}

func rowInts(r *methodspan.Row) [6]*int64 {
	return [...]*int64{&r.Measured, &r.CPUMeasured, &r.WallNS, &r.CPUNS, &r.WallMaxNS, &r.CPUMaxNS}
}

// rowFloat is a number that a bit of the mask stands for.
type rowFloat struct {
	bit uint64
	v   *float64
}

func rowFloats(r *methodspan.Row) [8]rowFloat {
	return [...]rowFloat{{hasCalls, &r.Calls}, {hasErrors, &r.Errors}, {hasWallSq, &r.WallSq}, {hasCPUSq, &r.CPUSq},
		{hasP, &r.P}, {hasCPUP, &r.CPUP}, {hasConfiguredRate, &r.ConfiguredRate}, {hasEffectiveRate, &r.EffectiveRate}}
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
	var mask uint64
	set := func(bit uint64, has bool) {
		if has {
			mask |= bit
		}
	}
	floats := rowFloats(r)
	for _, f := range floats {
		set(f.bit, math.Float64bits(*f.v) != 0)
	}
	set(hasWallHist, len(r.WallHist) > 0)
	set(hasCPUHist, len(r.CPUHist) > 0)
	set(hasPrice, r.USDPerCoreHour != nil)
	set(hasProcess, r.Process != nil)
	set(hasTrace, r.TraceID != [16]byte{})
	set(hasSpan, r.SpanID != [8]byte{})
	set(hasParent, r.ParentSpanID != [8]byte{})

	b := binary.AppendUvarint(e.body, mask)
	b = binary.AppendUvarint(b, e.resource(r.Resource))
	for _, s := range rowStrings(r) {
		b = e.string(b, *s)
	}
	b = binary.AppendVarint(b, r.StartNS)
	b = binary.AppendVarint(b, r.EndNS-r.StartNS)
	b = binary.AppendVarint(b, int64(r.RowSeq))
	for _, v := range rowInts(r) {
		b = binary.AppendVarint(b, *v)
	}
	for _, f := range floats {
		if mask&f.bit != 0 {
			b = appendFloat(b, *f.v)
		}
	}
	for _, h := range [...]methodspan.Histogram{r.WallHist, r.CPUHist} {
		if len(h) == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(h)))
		for _, bin := range h {
			b = binary.AppendVarint(b, int64(bin.Bin))
			b = appendFloat(b, bin.N)
		}
	}
	if r.USDPerCoreHour != nil {
		b = appendFloat(b, *r.USDPerCoreHour)
	}
	if p := r.Process; p != nil {
		b = appendFloat(b, p.Cores)
		b = appendFloat(b, p.HostCores)
		b = appendFloat(b, p.CPULimit)
		b = binary.AppendVarint(b, p.RSSBytes)
		b = binary.AppendVarint(b, p.CallsTotal)
		final := uint64(0)
		if p.Final {
			final = 1
		}
		b = binary.AppendUvarint(b, final)
		b = binary.AppendUvarint(b, uint64(len(p.Stats)))
		for _, s := range p.Stats {
			b = e.string(b, s.Name)
			b = appendFloat(b, s.Value)
		}
	}
	if mask&hasTrace != 0 {
		b = append(b, r.TraceID[:]...)
	}
	if mask&hasSpan != 0 {
		b = append(b, r.SpanID[:]...)
	}
	if mask&hasParent != 0 {
		b = append(b, r.ParentSpanID[:]...)
	}
	e.body = b
}
