package bigquery

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/corehour/corehour/internal/methodspan"
)

// Numbers of the fields of a row: the places of the columns in columns.All.
const (
	fieldEventDate = 1 + iota
	fieldKind
	fieldLevel
	fieldStartNS
	fieldEndNS
	fieldServiceNamespace
	fieldService
	fieldVersion
	fieldRevision
	fieldEnvironment
	fieldInstance
	fieldHost
	fieldHostID
	fieldHostType
	fieldCloudProvider
	fieldRegion
	fieldCapacityType
	fieldClass
	fieldMethod
	fieldSignature
	fieldCaller
	fieldStack
	fieldGroup
	fieldCalls
	fieldMeasured
	fieldCPUMeasured
	fieldErrors
	fieldWallNS
	fieldCPUNS
	fieldWallSq
	fieldCPUSq
	fieldWallMaxNS
	fieldCPUMaxNS
	fieldWallHist
	fieldCPUHist
	fieldP
	fieldCPUP
	fieldStratum
	fieldConfiguredRate
	fieldEffectiveRate
	fieldTier
	fieldReason
	fieldWeightBasis
	fieldCPUState
	fieldUSDPerCoreHour
	fieldPriceSource
	fieldProcessStartNS
	fieldCores
	fieldHostCores
	fieldCPULimit
	fieldRSSBytes
	fieldCallsTotal
	fieldFinal
	fieldSDKStats
	fieldTraceID
	fieldSpanID
	fieldParentSpanID
	fieldRequestID
	fieldBatchID
	fieldRowSeq
)

// Fields of the elements of lists.
const (
	fieldBin       = 1
	fieldBinN      = 2
	fieldStatName  = 1
	fieldStatValue = 2
)

// rowTag stands before every row in the rows of a request.
const rowTag = 1<<3 | byte(protowire.BytesType)

// encoder writes rows in the wire format of protocol buffers, one behind the
// other as the elements of a request's list of rows. A generic encoder that goes
// by the descriptor takes many times as long.
type encoder struct {
	last    *methodspan.Resource // whose bytes are kept:
	process []byte
	scratch []byte
}

// appendRow appends one element: tag, length, row.
func (e *encoder) appendRow(dst []byte, r *methodspan.Row) []byte {
	dst = append(dst, rowTag, 0, 0) // most rows have a length of two bytes
	start := len(dst)
	dst = e.appendFields(dst, r)
	n := len(dst) - start
	size := protowire.SizeVarint(uint64(n))
	if size != 2 {
		dst = slices.Grow(dst, size)
		dst = dst[:len(dst)+size-2]
		copy(dst[start+size-2:], dst[start:start+n])
	}
	binary.PutUvarint(dst[start-2:], uint64(n))
	return dst
}

func (e *encoder) appendFields(b []byte, r *methodspan.Row) []byte {
	b = appendInt(b, fieldEventDate, int64(r.EventDay()))
	b = appendText(b, fieldKind, r.Kind)
	b = appendText(b, fieldLevel, r.Level)
	b = appendInt(b, fieldStartNS, r.StartNS)
	b = appendInt(b, fieldEndNS, r.EndNS)
	b = append(b, e.resource(r.Resource)...)
	b = appendName(b, fieldClass, r.Class)
	b = appendName(b, fieldMethod, r.Method)
	b = appendName(b, fieldSignature, r.Signature)
	b = appendName(b, fieldCaller, r.Caller)
	b = appendName(b, fieldStack, r.Stack)
	b = appendName(b, fieldGroup, r.Group)
	b = appendDouble(b, fieldCalls, r.Calls)
	b = appendInt(b, fieldMeasured, r.Measured)
	b = appendInt(b, fieldCPUMeasured, r.CPUMeasured)
	b = appendDouble(b, fieldErrors, r.Errors)
	b = e.appendQuantity(b, wallFields, r.Measured, r.WallNS, r.WallSq, r.WallMaxNS, r.WallHist)
	b = e.appendQuantity(b, cpuFields, r.CPUMeasured, r.CPUNS, r.CPUSq, r.CPUMaxNS, r.CPUHist)
	b = appendKnown(b, fieldP, r.P)
	b = appendKnown(b, fieldCPUP, r.CPUP)
	b = appendName(b, fieldStratum, r.Stratum)
	b = appendKnown(b, fieldConfiguredRate, r.ConfiguredRate)
	b = appendKnown(b, fieldEffectiveRate, r.EffectiveRate)
	b = appendName(b, fieldTier, r.Tier)
	b = appendName(b, fieldReason, r.Reason)
	b = appendName(b, fieldWeightBasis, r.WeightBasis)
	b = appendName(b, fieldCPUState, r.CPUState)
	if r.USDPerCoreHour != nil {
		b = appendDouble(b, fieldUSDPerCoreHour, *r.USDPerCoreHour)
	}
	b = appendName(b, fieldPriceSource, r.PriceSource)
	if r.Process != nil {
		b = e.appendProcess(b, r.Process)
	}
	b = appendID(b, fieldTraceID, r.TraceID[:])
	b = appendID(b, fieldSpanID, r.SpanID[:])
	b = appendID(b, fieldParentSpanID, r.ParentSpanID[:])
	b = appendName(b, fieldRequestID, r.RequestID)
	b = appendName(b, fieldBatchID, r.BatchID)
	return appendInt(b, fieldRowSeq, int64(r.RowSeq))
}

// resource is what all rows of a process share. They come one after the other,
// so remembering one is enough.
func (e *encoder) resource(r *methodspan.Resource) []byte {
	if r == e.last {
		return e.process
	}
	b := e.process[:0]
	if r != nil {
		b = appendName(b, fieldServiceNamespace, r.ServiceNamespace)
		b = appendName(b, fieldService, r.Service)
		b = appendName(b, fieldVersion, r.Version)
		b = appendName(b, fieldRevision, r.Revision)
		b = appendName(b, fieldEnvironment, r.Environment)
		b = appendName(b, fieldInstance, r.Instance)
		b = appendName(b, fieldHost, r.Host)
		b = appendName(b, fieldHostID, r.HostID)
		b = appendName(b, fieldHostType, r.HostType)
		b = appendName(b, fieldCloudProvider, r.CloudProvider)
		b = appendName(b, fieldRegion, r.Region)
		b = appendName(b, fieldCapacityType, r.CapacityType)
		if r.ProcessStartNS != 0 {
			b = appendInt(b, fieldProcessStartNS, r.ProcessStartNS)
		}
	}
	e.last, e.process = r, b
	return b
}

// quantityFields are the columns of one measured quantity.
type quantityFields struct{ sum, squares, max, hist protowire.Number }

var (
	wallFields = quantityFields{fieldWallNS, fieldWallSq, fieldWallMaxNS, fieldWallHist}
	cpuFields  = quantityFields{fieldCPUNS, fieldCPUSq, fieldCPUMaxNS, fieldCPUHist}
)

// appendQuantity leaves out what is not known, as the Parquet files do: all where
// nothing was measured, squares and maximum where they follow from one value.
func (e *encoder) appendQuantity(b []byte, f quantityFields, measured, sum int64, squares float64, maximum int64, hist methodspan.Histogram) []byte {
	for _, bin := range hist {
		e.scratch = appendInt(e.scratch[:0], fieldBin, int64(bin.Bin))
		e.scratch = appendDouble(e.scratch, fieldBinN, bin.N)
		b = protowire.AppendTag(b, f.hist, protowire.BytesType)
		b = protowire.AppendBytes(b, e.scratch)
	}
	if measured <= 0 {
		return b
	}
	b = appendInt(b, f.sum, sum)
	if measured > 1 || squares != 0 {
		b = appendDouble(b, f.squares, squares)
	}
	if !methodspan.MaximumFollows(measured, sum, maximum) {
		b = appendInt(b, f.max, maximum)
	}
	return b
}

func (e *encoder) appendProcess(b []byte, p *methodspan.ProcessStats) []byte {
	b = appendDouble(b, fieldCores, p.Cores)
	b = appendKnown(b, fieldHostCores, p.HostCores)
	b = appendKnown(b, fieldCPULimit, p.CPULimit)
	b = appendInt(b, fieldRSSBytes, p.RSSBytes)
	b = appendInt(b, fieldCallsTotal, p.CallsTotal)
	final := int64(0)
	if p.Final {
		final = 1
	}
	b = appendInt(b, fieldFinal, final)
	for _, s := range p.Stats {
		e.scratch = appendText(e.scratch[:0], fieldStatName, s.Name)
		e.scratch = appendDouble(e.scratch, fieldStatValue, s.Value)
		b = protowire.AppendTag(b, fieldSDKStats, protowire.BytesType)
		b = protowire.AppendBytes(b, e.scratch)
	}
	return b
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// appendKnown leaves out zero, which stands for unknown.
func appendKnown(b []byte, field protowire.Number, v float64) []byte {
	if v == 0 {
		return b
	}
	return appendDouble(b, field, v)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}

// appendName leaves out the empty string, which stands for unknown.
func appendName(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return appendText(b, field, s)
}

// appendID leaves out an id of zeros.
func appendID(b []byte, field protowire.Number, id []byte) []byte {
	for _, c := range id {
		if c != 0 {
			b = protowire.AppendTag(b, field, protowire.BytesType)
			return protowire.AppendBytes(b, id)
		}
	}
	return b
}
