package methodspans

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

func TestNormalizer_UnknownKindPasses(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	for i, value := range []any{"stack", 7} {
		sent := batch("a", 0, func(spans ptrace.SpanSlice) {
			put(methodspan.AttrKind, value)(addCall(spans))
			put(methodspan.AttrP, math.NaN())(spans.At(0))
			spans.At(0).SetSpanID(pcommon.SpanID{byte(i + 1)}) // no duplicate
		})
		want := ptrace.NewTraces()
		sent.CopyTo(want)
		got := r.receive(sent)
		gotBytes, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(got)
		require.NoError(t, err)
		wantBytes, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(want)
		require.NoError(t, err)
		assert.Equal(t, wantBytes, gotBytes)
	}
	assert.Equal(t, []string{"passed kind_unknown x2"}, r.faults())
	assert.Equal(t, map[string]int64{"other": 2}, r.counted("received"))
}

// An encoded span can have two attributes of one name, which pcommon.Map cannot create. The first
// counts, here and for later readers of the span.
func TestNormalizer_DuplicateAttributes(t *testing.T) {
	td := batch("a", 1, func(spans ptrace.SpanSlice) {
		addCall(spans).Attributes().PutDouble("corehour.cpu.q", math.NaN())
	})
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	wire = []byte(strings.Replace(string(wire), "corehour.cpu.q", methodspan.AttrCPUP, 1))

	r := start(t, testConfig(nil), nil)
	status, answer := r.post("/v1/traces", "application/x-protobuf", wire)
	require.Equal(t, 200, status, answer)
	assert.Equal(t, []string{"corrected attribute_duplicate"}, r.faults())
	got := spansOf(r.sink.AllTraces()[0])
	require.Len(t, got, 1)
	var found []float64
	got[0].Attributes().Range(func(name string, v pcommon.Value) bool {
		if name == methodspan.AttrCPUP {
			found = append(found, v.Double())
		}
		return true
	})
	assert.Equal(t, []float64{0.5}, found)
}

// Texts of resources and scopes are in every row, so they must be valid UTF-8 too.
func TestNormalizer_RepairsSharedTexts(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	td := foreign("web", func(spans ptrace.SpanSlice) { addForeign(spans, 1, 0) })
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceVersion, "1\xff")
	td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().SetName("io\xff")
	got := r.receive(td).ResourceSpans().At(0)
	version, _ := got.Resource().Attributes().Get(methodspan.ResourceVersion)
	assert.Equal(t, "1\uFFFD", version.Str())
	assert.Equal(t, "io\uFFFD", got.ScopeSpans().At(0).Scope().Name())
	assert.Equal(t, []string{"corrected not_utf8 x2"}, r.faults())
}

// Texts of resources are in every row and every table of processes, so long ones are cut, and
// different ones stay different.
func TestNormalizer_LongResourceTexts(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	long := strings.Repeat("é", 1<<17)
	names := map[string]bool{}
	for i, instance := range []string{long + "1", long + "2", long + "1"} {
		td := foreign("web", func(spans ptrace.SpanSlice) { addForeign(spans, byte(i+1), 0) })
		attributes := td.ResourceSpans().At(0).Resource().Attributes()
		attributes.PutStr(methodspan.ResourceService, long)
		attributes.PutStr(methodspan.ResourceInstance, instance)
		attributes.PutEmptySlice(methodspan.ResourceRegion).AppendEmpty().SetStr(long)
		attributes.PutStr("process.command_line", long)
		got := methodspan.ReadResource(r.receive(td).ResourceSpans().At(0).Resource())
		for _, text := range []string{got.Service, got.Instance, got.Region} {
			assert.LessOrEqual(t, len(text), 512)
			assert.Greater(t, len(text), 500)
			assert.True(t, utf8.ValidString(text))
		}
		names[got.Instance] = true
	}
	assert.Len(t, names, 2)
	assert.Equal(t, []string{"corrected text_too_long x9"}, r.faults())
}

// The minimum length has room for the hash.
func TestShortened_MinimumLength(t *testing.T) {
	limits := testConfig(nil).Limits
	for limits.MaxNameLength = 1; limits.Validate() != nil; limits.MaxNameLength++ {
	}
	for length := limits.MaxNameLength; length < limits.MaxNameLength+8; length++ {
		for _, text := range []string{strings.Repeat("x", 100), strings.Repeat("é", 100)} {
			got := shortened(text, length)
			assert.LessOrEqual(t, len(got), length)
			assert.True(t, strings.HasPrefix(got, text[:8]), got)
			assert.NotEqual(t, got, shortened(text+"1", length))
		}
	}
}
