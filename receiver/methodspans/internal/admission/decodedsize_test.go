package admission

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/encoding/protowire"
)

// field is a message or text within another.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// path wraps a value in the fields of the numbers, the first outermost.
func path(value []byte, numbers ...protowire.Number) []byte {
	for i := len(numbers) - 1; i >= 0; i-- {
		value = field(numbers[i], value)
	}
	return value
}

// many of one field, the lightest way to make the decoder build messages.
func many(number protowire.Number, value []byte, inside ...protowire.Number) []byte {
	return path(bytes.Repeat(field(number, value), 1_000_000/len(field(number, value))), inside...)
}

func lightRequests() map[string][]byte {
	return map[string][]byte{
		"resource spans":            many(1, nil),
		"scope spans":               many(2, nil, 1),
		"scope spans, old number":   many(1000, nil, 1),
		"spans":                     many(2, nil, 1, 2),
		"attributes":                many(9, nil, 1, 2, 2),
		"attributes, many spans":    many(2, bytes.Repeat(field(9, nil), 20), 1, 2),
		"attributes of a resource":  many(1, nil, 1, 1),
		"attributes of a scope":     many(3, nil, 1, 2, 1),
		"entities":                  many(3, nil, 1, 1),
		"keys of an entity":         many(3, nil, 1, 1, 3),
		"descriptions of an entity": many(4, []byte("x"), 1, 1, 3),
		"events":                    many(11, nil, 1, 2, 2),
		"attributes of an event":    many(3, nil, 1, 2, 2, 11),
		"links":                     many(13, nil, 1, 2, 2),
		"attributes of a link":      many(4, nil, 1, 2, 2, 13),
		"values of an array":        many(1, nil, 1, 2, 2, 9, 2, 5),
		"entries of a map":          many(1, nil, 1, 2, 2, 9, 2, 6),
		"texts":                     many(1, field(1, []byte("x")), 1, 2, 2, 9, 2, 5),
		"numbers":                   many(1, []byte{3 << 3, 1}, 1, 2, 2, 9, 2, 5),
		"arrays in an array":        many(1, field(5, nil), 1, 2, 2, 9, 2, 5),
		"maps in an array":          many(1, field(6, nil), 1, 2, 2, 9, 2, 5),
		"one value again and again": many(5, nil, 1, 2, 2, 9, 2),
		"one text again and again":  many(5, []byte("x"), 1, 2, 2),
		"statuses":                  many(15, field(2, []byte("x")), 1, 2, 2),
	}
}

// calls is a request with measured calls as services send them.
func calls(n int) ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		span := spans.AppendEmpty()
		span.SetName("shop/cart.(*Cart).Total")
		span.SetTraceID([16]byte{1, 15: byte(i)})
		span.SetSpanID([8]byte{1, 7: byte(i)})
		span.TraceState().FromRaw("ot=th:c;rv:dddddddddddddd")
		span.SetStartTimestamp(1_790_000_000_000_000_000)
		span.SetEndTimestamp(1_790_000_000_020_000_000)
		a := span.Attributes()
		a.PutStr("corehour.kind", "call")
		a.PutStr("code.function.name", "shop/cart.(*Cart).Total")
		a.PutDouble("corehour.p", 0.25)
		a.PutDouble("corehour.cpu.p", 0.5)
		a.PutStr("corehour.cpu.state", "exact")
		a.PutInt("corehour.cpu.time", 5_000_000)
		a.PutStr("corehour.caller", "shop/web.Handler.Pay")
		a.PutStr("corehour.ids", "synthetic")
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

// The estimate is what the decoder allocates, garbage included, or more; and not so much more
// that requests as services send them would be refused.
func TestDecodedSize_Sufficient(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	allocated := func(decode func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decode()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	check := func(name string, body []byte, most float64) {
		t.Run(name, func(t *testing.T) {
			size, err := decodedSize(body)
			require.NoError(t, err)
			used := allocated(func() { require.NoError(t, ptraceotlp.NewExportRequest().UnmarshalProto(body)) })
			t.Logf("%.1f bytes a byte, estimated %.1f", float64(used)/float64(len(body)), float64(size)/float64(len(body)))
			require.GreaterOrEqual(t, size, used)
			require.LessOrEqual(t, size, mostPerByte*int64(len(body)))
			require.Less(t, float64(size), most*float64(used)+float64(8*len(body)))
		})
	}
	for name, body := range lightRequests() {
		check(name, body, 8)
	}
	real := calls(2000)
	body, err := real.MarshalProto()
	require.NoError(t, err)
	check("calls", body, 3)

	text, err := real.MarshalJSON()
	require.NoError(t, err)
	for name, body := range map[string][]byte{
		"calls":          text,
		"resource spans": []byte(`{"resourceSpans":[` + strings.Repeat("{},", 300_000) + `{}]}`),
		"spans":          []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Repeat("{},", 300_000) + `{}]}]}]}`),
		"values": []byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"arrayValue":{"values":[` +
			strings.Repeat("{},", 300_000) + `{}]}}}]}}]}`),
	} {
		t.Run("JSON, "+name, func(t *testing.T) {
			size, err := decodedSizeJSON(body)
			require.NoError(t, err)
			require.LessOrEqual(t, size, mostPerByte*int64(len(body)))
			used := allocated(func() { require.NoError(t, ptraceotlp.NewExportRequest().UnmarshalJSON(body)) })
			require.GreaterOrEqual(t, size, used)
		})
	}
}

func TestDecodedSize_RefusesDepth(t *testing.T) {
	nested := func(depth int) []byte {
		var value []byte
		for range depth {
			value = field(5, field(1, value))
		}
		return path(value, 1, 1, 1, 2)
	}
	_, err := decodedSize(nested(40))
	require.NoError(t, err)
	_, err = decodedSize(nested(60))
	require.ErrorIs(t, err, errTooDeep)
	_, err = decodedSizeJSON([]byte(strings.Repeat("[", 1000)))
	require.ErrorIs(t, err, errTooDeep)
}

// Whatever the decoder takes, the estimate covers, and it does not panic.
func FuzzDecodedSize(f *testing.F) {
	for _, body := range lightRequests() {
		f.Add(body[:min(len(body), 200)])
	}
	f.Add([]byte{0x0b, 0x0c}) // a group
	f.Fuzz(func(t *testing.T, body []byte) {
		size, err := decodedSize(body)
		if err != nil {
			return
		}
		request := ptraceotlp.NewExportRequest()
		if request.UnmarshalProto(body) != nil {
			return
		}
		messages := 0
		for _, rs := range request.Traces().ResourceSpans().All() {
			messages += 2
			for _, ss := range rs.ScopeSpans().All() {
				messages += 1 + ss.Spans().Len()
			}
		}
		if least := int64(messages * 64); size < least {
			t.Fatalf("%d messages, estimated %d bytes", messages, size)
		}
	})
}

func BenchmarkDecodedSize(b *testing.B) {
	body, err := calls(512).MarshalProto()
	require.NoError(b, err)
	for b.Loop() {
		if _, err := decodedSize(body); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/span")
}
