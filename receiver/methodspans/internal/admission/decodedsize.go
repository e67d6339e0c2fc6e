package admission

import (
	"bytes"
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds the nesting of values, as most protobuf decoders do. The decoder of the stock
// receiver has no bound, and its stack grows with the depth.
const maxDepth = 100

var errTooDeep = errors.New("values are nested more than 100 deep")

// message holds the memory for decoding one message, and its fields that are messages. A length of
// two bytes creates a whole message, so the memory can be 70 times the size of the request.
type message struct {
	// bytes of the message, its wrapper, its place in the parent's list and the copies of that list
	// as it grows. TestDecodedSize_Sufficient compares them with the decoder.
	bytes  int64
	fields [16]*message // by number
}

// mostPerByte is the maximum memory per byte of a request: an attribute can have two bytes.
const mostPerByte = 160

// bytesOfText is the memory for a text in addition to its length.
const bytesOfText = 16

// deprecatedScopeSpans is a field of ResourceSpans that is decoded like scope_spans.
const deprecatedScopeSpans, scopeSpansField = 1000, 2

var keyValue, tracesRequest = func() (*message, *message) {
	value, keyValue := &message{bytes: 96}, &message{bytes: 240}
	value.fields = [16]*message{5: {bytes: 64, fields: [16]*message{1: value}}, 6: {bytes: 64, fields: [16]*message{1: keyValue}}}
	keyValue.fields[2] = value
	event := &message{bytes: 112, fields: [16]*message{3: keyValue}}
	link := &message{bytes: 128, fields: [16]*message{4: keyValue}}
	span := &message{bytes: 288, fields: [16]*message{9: keyValue, 11: event, 13: link, 15: {}}}
	scope := &message{fields: [16]*message{3: keyValue}}
	scopeSpans := &message{bytes: 176, fields: [16]*message{1: scope, scopeSpansField: span}}
	key := &message{bytes: 96} // a text in a list
	entity := &message{bytes: 192, fields: [16]*message{3: key, 4: key}}
	resource := &message{fields: [16]*message{1: keyValue, 3: entity}}
	resourceSpans := &message{bytes: 192, fields: [16]*message{1: resource, scopeSpansField: scopeSpans}}
	return keyValue, &message{fields: [16]*message{1: resourceSpans}}
}()

// bytesOfPlain is the memory for an attribute with a plain value.
const bytesOfPlain = 240 + 96 + 3*bytesOfText

// decodedSize returns an upper bound on the memory for decoding a request, in bytes. It stops at
// invalid bytes, as the decoder does.
func decodedSize(body []byte) (int64, error) {
	size, err := tracesRequest.size(body, 0)
	return size + int64(len(body)), err
}

func (m *message) size(b []byte, depth int) (total int64, err error) {
	if depth > maxDepth {
		return 0, errTooDeep
	}
	for at := 0; at < len(b); {
		var number, start, end int
		switch tag := b[at]; {
		case tag < 0x80 && tag&7 == byte(protowire.BytesType) && at+1 < len(b) && b[at+1] < 0x80:
			number, start, end = int(tag>>3), at+2, at+2+int(b[at+1]) // as nearly all are
		case tag < 0x80 && tag&7 == byte(protowire.Fixed64Type):
			number, end = -1, at+9
		default:
			number, start, end = longField(b, at)
		}
		if end < 0 || end > len(b) {
			return total, nil
		}
		at = end
		if number < 0 {
			continue
		}
		total += bytesOfText
		if number >= len(m.fields) || m.fields[number] == nil {
			continue
		}
		inner, value := m.fields[number], b[start:end]
		if inner == keyValue && plain(value) {
			total += bytesOfPlain
			continue
		}
		size, err := inner.size(value, depth+1)
		total += inner.bytes + size
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// longField returns where the value of a field with a length begins and ends. The number is
// negative where the field has no length, the end where the message is damaged.
func longField(b []byte, at int) (number, start, end int) {
	long, wire, n := protowire.ConsumeTag(b[at:])
	if n < 0 {
		return 0, 0, -1
	}
	at += n
	if wire != protowire.BytesType {
		if n = protowire.ConsumeFieldValue(long, wire, b[at:]); n < 0 {
			return 0, 0, -1
		}
		return -1, 0, at + n
	}
	value, n := protowire.ConsumeBytes(b[at:])
	if n < 0 {
		return 0, 0, -1
	}
	if long == deprecatedScopeSpans {
		long = scopeSpansField
	}
	return int(long), at + n - len(value), at + n
}

// plain attributes have a short key and one short text or number, as nearly all have: these need
// no second look.
func plain(attribute []byte) bool {
	const key, value, text, boolean, integer, double = 1<<3 | 2, 2<<3 | 2, 1<<3 | 2, 2 << 3, 3 << 3, 4<<3 | 1
	if len(attribute) < 2 || attribute[0] != key || attribute[1] >= 0x80 || int(attribute[1]) > len(attribute)-4 {
		return false
	}
	b := attribute[2+attribute[1]:]
	if b[0] != value || b[1] >= 0x80 || int(b[1]) != len(b)-2 || len(b) < 4 {
		return false
	}
	switch b[2] {
	case text:
		return b[3] < 0x80 && int(b[3]) == len(b)-4
	case boolean, integer:
		return len(b) <= 3+binary.MaxVarintLen64
	case double:
		return len(b) == 3+8
	}
	return false
}

// decodedSizeJSON does the same for JSON, where every message opens a brace. Braces within texts
// count too.
func decodedSizeJSON(body []byte) (int64, error) {
	const perObject, perEntry = 320, 64
	depth := 0
	for _, c := range body {
		switch c {
		case '{', '[':
			if depth++; depth > 4*maxDepth {
				return 0, errTooDeep
			}
		case '}', ']':
			depth = max(depth-1, 0)
		}
	}
	objects := bytes.Count(body, []byte("{"))
	entries := bytes.Count(body, []byte(",")) + bytes.Count(body, []byte("["))
	return int64(2*len(body)) + perObject*int64(objects) + perEntry*int64(entries), nil
}
