// Package spans writes spans by the contract with the collector: names, attributes, ids and the state of
// consistent sampling.
//
// Its invariant: the output is a valid request, whatever strings the program passes.
//
// It does not know calls, sums or intervals: the SDK selects the attributes of a span.
package spans

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/corehour/corehour/sdk/internal/otlp"
)

// Writer writes spans one after the other, and reuses its buffers.
type Writer struct {
	span []byte // the current span
	done []byte // finished spans, each tagged as a span of ScopeSpans

	prefix, number uint64 // parts of generated ids
}

// Reset begins another request. It releases buffers of more than kept bytes.
func (w *Writer) Reset(kept int) {
	for _, buffer := range []*[]byte{&w.span, &w.done} {
		if cap(*buffer) > kept {
			*buffer = nil
		}
	}
	w.done = w.done[:0]
}

// End ends the current span.
func (w *Writer) End() { w.done = otlp.Bytes(w.done, otlp.ScopeSpansSpans, w.span) }

// Begin begins a span with generated ids: a random number of the process, and the number of the span.
// Random bytes per span would be two fifths of a compressed request. Synthetic marks such ids.
func (w *Writer) Begin() {
	if w.prefix == 0 {
		w.prefix = rand.Uint64() | 1 // an id of zeros is invalid
	}
	w.number++
	var ids [24]byte
	binary.BigEndian.PutUint64(ids[0:], w.prefix)
	binary.BigEndian.PutUint64(ids[8:], w.number)
	binary.BigEndian.PutUint64(ids[16:], w.number)
	w.span = otlp.Bytes(w.span[:0], otlp.SpanTraceID, ids[:16])
	w.span = otlp.Bytes(w.span, otlp.SpanID, ids[16:])
}

// BeginTraced begins a span of a real trace.
func (w *Writer) BeginTraced(trace [16]byte, parent [8]byte) {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], rand.Uint64()|1)
	w.span = otlp.Bytes(w.span[:0], otlp.SpanTraceID, trace[:])
	w.span = otlp.Bytes(w.span, otlp.SpanID, id[:])
	w.span = otlp.Bytes(w.span, otlp.SpanParentID, parent[:])
}

// BeginSummary begins a span that represents many calls.
func (w *Writer) BeginSummary(name, kind string, start, end int64) {
	w.Begin()
	w.KeepAll()
	w.span = otlp.String(w.span, otlp.SpanName, name)
	w.span = otlp.Uint(w.span, otlp.SpanKind, otlp.KindInternal)
	w.Times(start, end)
	w.Text(AttrKind, kind)
	w.Append(Synthetic)
}

// Synthetic marks the ids of a span as generated.
var Synthetic = otlp.StringAttribute(nil, otlp.SpanAttributes, AttrIDs, SyntheticIDs)

// Head returns the encoded attributes that all measurements of a method at one rate share.
func Head(name string, p float64) []byte {
	b := otlp.String(nil, otlp.SpanName, name)
	b = otlp.Uint(b, otlp.SpanKind, otlp.KindInternal)
	b = otlp.StringAttribute(b, otlp.SpanAttributes, AttrKind, KindCall)
	b = otlp.StringAttribute(b, otlp.SpanAttributes, AttrFunction, name)
	return otlp.DoubleAttribute(b, otlp.SpanAttributes, AttrP, p)
}

// Append writes encoded attributes.
func (w *Writer) Append(encoded []byte) { w.span = append(w.span, encoded...) }

func (w *Writer) Times(start, end int64) {
	w.span = otlp.Fixed64(w.span, otlp.SpanStart, uint64(start))
	w.span = otlp.Fixed64(w.span, otlp.SpanEnd, uint64(end))
}

// Failed marks a call that returned an error.
func (w *Writer) Failed() { w.span = otlp.Status(w.span, otlp.StatusError) }

func (w *Writer) Text(key, v string) {
	w.span = otlp.StringAttribute(w.span, otlp.SpanAttributes, key, v)
}

func (w *Writer) Texts(key string, n int, at func(int) string) {
	w.span = otlp.StringsAttribute(w.span, otlp.SpanAttributes, key, n, at)
}

func (w *Writer) Int(key string, v int64) {
	w.span = otlp.IntAttribute(w.span, otlp.SpanAttributes, key, v)
}

func (w *Writer) Ints(key string, v []int64) {
	w.span = otlp.IntsAttribute(w.span, otlp.SpanAttributes, key, len(v), func(i int) int64 { return v[i] })
}

func (w *Writer) Double(key string, v float64) {
	w.span = otlp.DoubleAttribute(w.span, otlp.SpanAttributes, key, v)
}

func (w *Writer) Doubles(key string, v []float64) {
	w.span = otlp.DoublesAttribute(w.span, otlp.SpanAttributes, key, len(v), func(i int) float64 { return v[i] })
}

func (w *Writer) Bool(key string, v bool) {
	w.span = otlp.BoolAttribute(w.span, otlp.SpanAttributes, key, v)
}

// Scope holds the scope attributes of a request.
type Scope struct {
	Version    string // SDK version
	Process    string
	Batch      uint64
	CallsTotal int64
	// Served reports that rates of a collector are in force. A collector that does not know the
	// process yet then leaves its rates unchanged.
	Served bool
}

// Request appends the spans written since Reset.
func (w *Writer) Request(body, resource []byte, s Scope) []byte {
	scope := otlp.String(nil, otlp.ScopeName, scopeName)
	scope = otlp.String(scope, otlp.ScopeVersion, s.Version)
	scope = otlp.StringAttribute(scope, otlp.ScopeAttributes, AttrProcessID, s.Process)
	scope = otlp.IntAttribute(scope, otlp.ScopeAttributes, AttrBatch, int64(s.Batch))
	scope = otlp.IntAttribute(scope, otlp.ScopeAttributes, AttrCallsTotal, s.CallsTotal)
	if s.Served {
		scope = otlp.BoolAttribute(scope, otlp.ScopeAttributes, AttrServed, true)
	}
	return otlp.Request(body, resource, scope, w.done)
}
