package otlp

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bytes as protoc's own encoder writes them, put down by hand from the wire format.
func TestWireFormat(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct{ got, want []byte }{
		"string":  {String(nil, 5, "ab"), []byte{0x2a, 2, 'a', 'b'}},
		"long":    {String(nil, 1, long), append([]byte{0x0a, 0xc8, 0x01}, long...)},
		"varint":  {Uint(nil, 6, 300), []byte{0x30, 0xac, 0x02}},
		"fixed64": {Fixed64(nil, 7, 1), []byte{0x39, 1, 0, 0, 0, 0, 0, 0, 0}},
		"status":  {Status(nil, StatusError), []byte{0x7a, 2, 0x18, 2}},
		"text":    {StringAttribute(nil, 9, "k", "v"), []byte{0x4a, 8, 0x0a, 1, 'k', 0x12, 3, 0x0a, 1, 'v'}},
		"empty":   {StringAttribute(nil, 9, "k", ""), []byte{0x4a, 7, 0x0a, 1, 'k', 0x12, 2, 0x0a, 0}},
		"bool":    {BoolAttribute(nil, 9, "k", false), []byte{0x4a, 7, 0x0a, 1, 'k', 0x12, 2, 0x10, 0}},
		"int": {IntAttribute(nil, 9, "k", -1),
			[]byte{0x4a, 16, 0x0a, 1, 'k', 0x12, 11, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
		"double": {DoubleAttribute(nil, 9, "k", 1), []byte{0x4a, 14, 0x0a, 1, 'k', 0x12, 9, 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
		"ints": {IntsAttribute(nil, 9, "k", 2, func(i int) int64 { return int64(i) }),
			[]byte{0x4a, 15, 0x0a, 1, 'k', 0x12, 10, 0x2a, 8, 0x0a, 2, 0x18, 0, 0x0a, 2, 0x18, 1}},
		"no ints": {IntsAttribute(nil, 9, "k", 0, nil), []byte{0x4a, 7, 0x0a, 1, 'k', 0x12, 2, 0x2a, 0}},
		"request": {Request(nil, []byte{1}, []byte{2}, []byte{3}),
			[]byte{0x0a, 9, 0x0a, 1, 1, 0x12, 4, 0x0a, 1, 2, 3}},
	} {
		if !bytes.Equal(c.got, c.want) {
			t.Errorf("%s: % x, want % x", name, c.got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("ok")
	f.Add("\xffa\xc3")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) || utf8.ValidString(s) && got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
