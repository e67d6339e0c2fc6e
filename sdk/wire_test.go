package corehour

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A reader of protobuf that shares nothing with the writer: it walks fields by
// their wire types and takes the numbers from opentelemetry-proto alone.

type wireField struct {
	number int
	value  uint64 // varint and fixed
	bytes  []byte
}

func wireFields(b []byte) ([]wireField, error) {
	var fields []wireField
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("bad key")
		}
		b = b[n:]
		f := wireField{number: int(key >> 3)}
		switch key & 7 {
		case 0:
			f.value, n = binary.Uvarint(b)
			if n <= 0 {
				return nil, fmt.Errorf("field %d: bad varint", f.number)
			}
		case 1:
			if n = 8; len(b) < n {
				return nil, fmt.Errorf("field %d: short fixed64", f.number)
			}
			f.value = binary.LittleEndian.Uint64(b)
		case 2:
			size, m := binary.Uvarint(b)
			if m <= 0 || size > uint64(len(b)-m) {
				return nil, fmt.Errorf("field %d: bad length", f.number)
			}
			f.bytes, n = b[m:m+int(size)], m+int(size)
		default:
			return nil, fmt.Errorf("field %d: wire type %d", f.number, key&7)
		}
		b = b[n:]
		fields = append(fields, f)
	}
	return fields, nil
}

type wireSpan struct {
	traceID, spanID, parentID []byte
	traceState, name          string
	kind, status              uint64
	start, end                int64
	attrs                     map[string]any
}

func (s wireSpan) text(key string) string { v, _ := s.attrs[key].(string); return v }
func (s wireSpan) int(key string) int64   { v, _ := s.attrs[key].(int64); return v }
func (s wireSpan) double(key string) float64 {
	v, _ := s.attrs[key].(float64)
	return v
}

type wireRequest struct {
	resource, scope       map[string]any
	scopeName, scopeValue string
	spans                 []wireSpan
}

// only returns the one message with this number, or fails.
func only(fields []wireField, number int) ([]wireField, error) {
	found := -1
	for i, f := range fields {
		if f.number == number {
			if found >= 0 {
				return nil, fmt.Errorf("field %d is there twice", number)
			}
			found = i
		}
	}
	if found < 0 {
		return nil, fmt.Errorf("field %d is missing", number)
	}
	return wireFields(fields[found].bytes)
}

func readRequest(body []byte) (wireRequest, error) {
	var r wireRequest
	request, err := wireFields(body)
	if err != nil {
		return r, err
	}
	resourceSpans, err := only(request, 1)
	if err != nil {
		return r, err
	}
	resource, err := only(resourceSpans, 1)
	if err != nil {
		return r, err
	}
	if r.resource, err = readAttributes(resource, 1); err != nil {
		return r, err
	}
	scopeSpans, err := only(resourceSpans, 2)
	if err != nil {
		return r, err
	}
	scope, err := only(scopeSpans, 1)
	if err != nil {
		return r, err
	}
	for _, f := range scope {
		switch f.number {
		case 1:
			r.scopeName = string(f.bytes)
		case 2:
			r.scopeValue = string(f.bytes)
		}
	}
	if r.scope, err = readAttributes(scope, 3); err != nil {
		return r, err
	}
	for _, f := range scopeSpans {
		if f.number == 2 {
			span, err := readSpan(f.bytes)
			if err != nil {
				return r, err
			}
			r.spans = append(r.spans, span)
		}
	}
	return r, nil
}

func readSpan(b []byte) (wireSpan, error) {
	var s wireSpan
	fields, err := wireFields(b)
	if err != nil {
		return s, err
	}
	for _, f := range fields {
		switch f.number {
		case 1:
			s.traceID = f.bytes
		case 2:
			s.spanID = f.bytes
		case 3:
			s.traceState = string(f.bytes)
		case 4:
			s.parentID = f.bytes
		case 5:
			s.name = string(f.bytes)
		case 6:
			s.kind = f.value
		case 7:
			s.start = int64(f.value)
		case 8:
			s.end = int64(f.value)
		case 9:
		case 15:
			status, err := wireFields(f.bytes)
			if err != nil || len(status) != 1 || status[0].number != 3 {
				return s, fmt.Errorf("bad status: %d fields, %w", len(status), err)
			}
			s.status = status[0].value
		default:
			return s, fmt.Errorf("span field %d", f.number)
		}
	}
	s.attrs, err = readAttributes(fields, 9)
	return s, err
}

func readAttributes(fields []wireField, number int) (map[string]any, error) {
	attrs := map[string]any{}
	for _, f := range fields {
		if f.number != number {
			continue
		}
		pair, err := wireFields(f.bytes)
		if err != nil {
			return nil, err
		}
		if len(pair) != 2 || pair[0].number != 1 || pair[1].number != 2 {
			return nil, fmt.Errorf("a KeyValue of %d fields", len(pair))
		}
		key := string(pair[0].bytes)
		if _, ok := attrs[key]; ok {
			return nil, fmt.Errorf("attribute %s is there twice", key)
		}
		if attrs[key], err = readValue(pair[1].bytes); err != nil {
			return nil, fmt.Errorf("attribute %s: %w", key, err)
		}
	}
	return attrs, nil
}

func readValue(b []byte) (any, error) {
	fields, err := wireFields(b)
	if err != nil {
		return nil, err
	}
	if len(fields) != 1 {
		return nil, fmt.Errorf("an AnyValue of %d fields", len(fields))
	}
	switch f := fields[0]; f.number {
	case 1:
		return string(f.bytes), nil
	case 2:
		return f.value == 1, nil
	case 3:
		return int64(f.value), nil
	case 4:
		return math.Float64frombits(f.value), nil
	case 5:
		elements, err := wireFields(f.bytes)
		if err != nil {
			return nil, err
		}
		list := []any{}
		for _, e := range elements {
			v, err := readValue(e.bytes)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	default:
		return nil, fmt.Errorf("AnyValue field %d", f.number)
	}
}
