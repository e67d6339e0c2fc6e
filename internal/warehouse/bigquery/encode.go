package bigquery

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// rowTag is the tag in front of every row in the rows of a request.
const rowTag = 1<<3 | byte(protowire.BytesType)

// encoder writes rows in the wire format of protocol buffers, each as an element of the request's
// list of rows. An encoder driven by the descriptor takes many times as long.
type encoder struct {
	last    *methodspan.Resource // resource that is encoded in process
	process []byte
	scratch []byte
}

// appendRow appends one element: tag, length, row.
func (e *encoder) appendRow(dst []byte, r *methodspan.Row) []byte {
	dst = append(dst, rowTag, 0, 0) // the length of most rows takes two bytes
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
	b = append(b, e.encodedResource(r)...)
	b = e.appendPart(b, r, columns.OfRow)
	if r.Process != nil {
		b = e.appendPart(b, r, columns.OfProcess)
	}
	return b
}

// encodedResource returns the encoded columns that all rows of a process share. Rows of a process
// follow each other, so one remembered resource is enough.
func (e *encoder) encodedResource(r *methodspan.Row) []byte {
	if r.Resource != e.last {
		e.process = e.process[:0]
		if r.Resource != nil {
			e.process = e.appendPart(e.process, r, columns.OfResource)
		}
		e.last = r.Resource
	}
	return e.process
}

// appendPart appends the columns of one part of a row. It appends nothing for a NULL.
func (e *encoder) appendPart(b []byte, r *methodspan.Row, part columns.Part) []byte {
	fields, base := rowFields[part], part.In(r)
	for i := range fields {
		f := &fields[i]
		if f.known != nil && !f.known(r) {
			continue
		}
		always := f.required || f.known != nil
		switch f.goType {
		case goString:
			if v := *f.stringField.At(base); v != "" || always {
				b = appendTag(b, f.tag)
				b = protowire.AppendString(b, v)
			}
		case goInt64:
			if v := *f.int64Field.At(base); v != 0 || always {
				b = appendTag(b, f.tag)
				b = protowire.AppendVarint(b, uint64(v))
			}
		case goFloat64:
			if v := *f.float64Field.At(base); v != 0 || always {
				b = appendTag(b, f.tag)
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		default:
			b = f.encodeOther(e, b, r)
		}
	}
	return b
}

// goType is the Go type of a field. The first three kinds cover most fields and need no function
// call.
type goType uint8

const (
	goOther goType = iota
	goString
	goInt64
	goFloat64
)

// field encodes a column.
type field struct {
	goType       goType
	tag          [2]byte // the second byte is 0 if the tag has one byte
	required     bool
	known        func(*methodspan.Row) bool
	stringField  columns.Field[string]
	int64Field   columns.Field[int64]
	float64Field columns.Field[float64]
	encodeOther  func(e *encoder, b []byte, r *methodspan.Row) []byte
}

func appendTag(b []byte, tag [2]byte) []byte {
	if tag[1] == 0 {
		return append(b, tag[0])
	}
	return append(b, tag[0], tag[1])
}

// rowFields are the encoders of the columns, by part of a row.
var rowFields = func() (fields [3][]field) {
	for i := range columns.All {
		c := &columns.All[i]
		fields[c.Part()] = append(fields[c.Part()], newField(c, protowire.Number(i+1)))
	}
	return fields
}()

// newField returns the encoder of a column. number is the column's place in columns.All, from 1.
func newField(c *columns.Column, number protowire.Number) field {
	f := field{required: c.Required, known: c.Known()}
	tag := func(wire protowire.Type) { protowire.AppendTag(f.tag[:0], number, wire) }
	switch c.GoType() {
	case reflect.TypeFor[string]():
		f.goType, f.stringField = goString, columns.FieldOf[string](c.Name)
		tag(protowire.BytesType)
	case reflect.TypeFor[int64]():
		f.goType, f.int64Field = goInt64, columns.FieldOf[int64](c.Name)
		tag(protowire.VarintType)
	case reflect.TypeFor[float64]():
		f.goType, f.float64Field = goFloat64, columns.FieldOf[float64](c.Name)
		tag(protowire.Fixed64Type)
	case nil: // event_date
		f.encodeOther = func(_ *encoder, b []byte, r *methodspan.Row) []byte { return appendInt(b, number, int64(r.EventDay())) }
	case reflect.TypeFor[int32]():
		f.encodeOther = encodeSingle(c, func(b []byte, v int32) []byte { return appendInt(b, number, int64(v)) })
	case reflect.TypeFor[*float64]():
		f.encodeOther = encodeSingle(c, func(b []byte, v *float64) []byte { return appendDouble(b, number, *v) })
	case reflect.TypeFor[bool]():
		f.encodeOther = encodeSingle(c, func(b []byte, v bool) []byte { return appendInt(b, number, int64(protowire.EncodeBool(v))) })
	case reflect.TypeFor[[16]byte]():
		f.encodeOther = encodeSingle(c, func(b []byte, v [16]byte) []byte { return appendBytes(b, number, v[:]) })
	case reflect.TypeFor[[8]byte]():
		f.encodeOther = encodeSingle(c, func(b []byte, v [8]byte) []byte { return appendBytes(b, number, v[:]) })
	case reflect.TypeFor[methodspan.Histogram]():
		f.encodeOther = encodeList[methodspan.Histogram](c, number, func(b []byte, bin methodspan.Bin) []byte {
			return appendDouble(appendInt(b, 1, int64(bin.Bin)), 2, bin.N)
		})
	case reflect.TypeFor[[]methodspan.Stat]():
		f.encodeOther = encodeList[[]methodspan.Stat](c, number, func(b []byte, s methodspan.Stat) []byte {
			return appendDouble(appendBytes(b, 1, []byte(s.Name)), 2, s.Value)
		})
	default:
		panic("column " + c.Name + " is held as " + c.GoType().String())
	}
	return f
}

// encodeSingle returns the encoder of a column that has one value per row, not a list.
func encodeSingle[T comparable](c *columns.Column, appendValue func([]byte, T) []byte) func(*encoder, []byte, *methodspan.Row) []byte {
	field, part, always := columns.FieldOf[T](c.Name), c.Part(), c.Required || c.Known() != nil
	return func(_ *encoder, b []byte, r *methodspan.Row) []byte {
		v := *field.At(part.In(r))
		var zero T
		if v == zero && !always {
			return b
		}
		return appendValue(b, v)
	}
}

// encodeList returns the encoder of a column with a list. An empty list is NULL. Fields of an
// element are numbered by their order.
func encodeList[T ~[]E, E any](c *columns.Column, number protowire.Number, appendElement func([]byte, E) []byte) func(*encoder, []byte, *methodspan.Row) []byte {
	field, part := columns.FieldOf[T](c.Name), c.Part()
	return func(e *encoder, b []byte, r *methodspan.Row) []byte {
		for _, element := range *field.At(part.In(r)) {
			e.scratch = appendElement(e.scratch[:0], element)
			b = appendBytes(b, number, e.scratch)
		}
		return b
	}
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, v)
}
