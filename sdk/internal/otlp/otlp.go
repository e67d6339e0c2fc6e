// Package otlp writes OTLP trace requests in protobuf by hand, appending to a
// buffer of the caller's.
//
// Its invariant: the output is canonical protobuf of opentelemetry-proto's ExportTraceServiceRequest,
// with every string valid UTF-8.
//
// It neither reads protobuf nor knows the meaning of attributes.
package otlp

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// Field numbers of the messages written here.
const (
	RequestResourceSpans = 1

	ResourceSpansResource   = 1
	ResourceSpansScopeSpans = 2

	ResourceAttributes = 1

	ScopeSpansScope = 1
	ScopeSpansSpans = 2

	ScopeName       = 1
	ScopeVersion    = 2
	ScopeAttributes = 3

	SpanTraceID    = 1
	SpanID         = 2
	SpanTraceState = 3
	SpanParentID   = 4
	SpanName       = 5
	SpanKind       = 6
	SpanStart      = 7
	SpanEnd        = 8
	SpanAttributes = 9
	SpanStatus     = 15

	statusCode = 3

	keyValueKey   = 1
	keyValueValue = 2

	valueString = 1
	valueBool   = 2
	valueInt    = 3
	valueDouble = 4
	valueArray  = 5

	arrayValues = 1
)

// KindInternal and StatusError are values of Span.kind and Status.code.
const (
	KindInternal = 1
	StatusError  = 2
)

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

func varintSize(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

func tag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wire))
}

// String appends a string field.
func String(b []byte, field int, s string) []byte {
	b = tag(b, field, wireBytes)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Bytes appends a bytes field, or a message that is encoded already.
func Bytes(b []byte, field int, v []byte) []byte {
	b = tag(b, field, wireBytes)
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

// Uint appends a varint field.
func Uint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(tag(b, field, wireVarint), v)
}

// Fixed64 appends a fixed64 field.
func Fixed64(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(tag(b, field, wireFixed64), v)
}

// Status appends a span's status.
func Status(b []byte, code uint64) []byte {
	b = tag(b, SpanStatus, wireBytes)
	b = binary.AppendUvarint(b, uint64(1+varintSize(code)))
	return Uint(b, statusCode, code)
}

// Text replaces invalid UTF-8, because protobuf strings must be valid.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// keyed appends everything of a KeyValue up to the content of its AnyValue,
// which takes size bytes.
func keyed(b []byte, field int, key string, size int) []byte {
	value := 1 + varintSize(uint64(size)) + size
	b = tag(b, field, wireBytes)
	b = binary.AppendUvarint(b, uint64(1+varintSize(uint64(len(key)))+len(key)+value))
	b = String(b, keyValueKey, key)
	b = tag(b, keyValueValue, wireBytes)
	return binary.AppendUvarint(b, uint64(size))
}

// StringAttribute appends an attribute; field is the number of the repeated
// KeyValue in the message being written, here and below.
func StringAttribute(b []byte, field int, key, v string) []byte {
	b = keyed(b, field, key, 1+varintSize(uint64(len(v)))+len(v))
	return String(b, valueString, v)
}

// IntAttribute appends an integer attribute.
func IntAttribute(b []byte, field int, key string, v int64) []byte {
	b = keyed(b, field, key, 1+varintSize(uint64(v)))
	return Uint(b, valueInt, uint64(v))
}

// BoolAttribute appends a boolean attribute.
func BoolAttribute(b []byte, field int, key string, v bool) []byte {
	b = keyed(b, field, key, 2)
	if v {
		return Uint(b, valueBool, 1)
	}
	return Uint(b, valueBool, 0)
}

// DoubleAttribute appends a double attribute.
func DoubleAttribute(b []byte, field int, key string, v float64) []byte {
	b = keyed(b, field, key, 9)
	return Fixed64(b, valueDouble, math.Float64bits(v))
}

// StringsAttribute appends an attribute that is an array of strings.
func StringsAttribute(b []byte, field int, key string, n int, at func(int) string) []byte {
	return arrayAttribute(b, field, key, n,
		func(i int) int { l := len(at(i)); return 1 + varintSize(uint64(l)) + l },
		func(b []byte, i int) []byte { return String(b, valueString, at(i)) })
}

// IntsAttribute appends an attribute that is an array of integers.
func IntsAttribute(b []byte, field int, key string, n int, at func(int) int64) []byte {
	return arrayAttribute(b, field, key, n,
		func(i int) int { return 1 + varintSize(uint64(at(i))) },
		func(b []byte, i int) []byte { return Uint(b, valueInt, uint64(at(i))) })
}

// DoublesAttribute appends an attribute that is an array of doubles.
func DoublesAttribute(b []byte, field int, key string, n int, at func(int) float64) []byte {
	return arrayAttribute(b, field, key, n,
		func(int) int { return 9 },
		func(b []byte, i int) []byte { return Fixed64(b, valueDouble, math.Float64bits(at(i))) })
}

func arrayAttribute(b []byte, field int, key string, n int, size func(int) int, value func([]byte, int) []byte) []byte {
	array := 0
	for i := range n {
		s := size(i)
		array += 1 + varintSize(uint64(s)) + s
	}
	b = keyed(b, field, key, 1+varintSize(uint64(array))+array)
	b = tag(b, valueArray, wireBytes)
	b = binary.AppendUvarint(b, uint64(array))
	for i := range n {
		b = tag(b, arrayValues, wireBytes)
		b = binary.AppendUvarint(b, uint64(size(i)))
		b = value(b, i)
	}
	return b
}

// Request wraps encoded spans (each already tagged as ScopeSpansSpans) into one
// request of one resource and one scope.
func Request(b, resource, scope, spans []byte) []byte {
	scopeSpans := bytesSize(len(scope)) + len(spans)
	resourceSpans := bytesSize(len(resource)) + bytesSize(scopeSpans)
	b = tag(b, RequestResourceSpans, wireBytes)
	b = binary.AppendUvarint(b, uint64(resourceSpans))
	b = Bytes(b, ResourceSpansResource, resource)
	b = tag(b, ResourceSpansScopeSpans, wireBytes)
	b = binary.AppendUvarint(b, uint64(scopeSpans))
	b = Bytes(b, ScopeSpansScope, scope)
	return append(b, spans...)
}

// bytesSize returns the encoded size of a length-delimited field with a number below 16.
func bytesSize(n int) int { return 1 + varintSize(uint64(n)) + n }
