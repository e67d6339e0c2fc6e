package methodspans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// faultCase is one fault in an otherwise valid span of the corehour SDK.
type faultCase struct {
	name   string
	spoil  func(ptrace.Span)
	faults []string       // "outcome reason"
	want   map[string]any // attributes that differ from the spoilt span's; nil = absent
	gone   bool           // the span is dropped
	also   func(*testing.T, ptrace.Span)
}

func put(key string, value any) func(ptrace.Span) {
	return func(span ptrace.Span) {
		if value == nil {
			span.Attributes().Remove(key)
			return
		}
		v := pcommon.NewValueEmpty()
		if err := v.FromRaw(value); err != nil {
			panic(err)
		}
		v.CopyTo(span.Attributes().PutEmpty(key))
	}
}

func both(fs ...func(ptrace.Span)) func(ptrace.Span) {
	return func(span ptrace.Span) {
		for _, f := range fs {
			f(span)
		}
	}
}

func state(s string) func(ptrace.Span) {
	return func(span ptrace.Span) { span.TraceState().FromRaw(s) }
}

func times(start, end int64) func(ptrace.Span) {
	return func(span ptrace.Span) {
		span.SetStartTimestamp(pcommon.Timestamp(start))
		span.SetEndTimestamp(pcommon.Timestamp(end))
	}
}

// runFaultCases sends each spoilt span between two good ones through a real
// receiver: the good ones must come out as they went in.
func runFaultCases(t *testing.T, add func(ptrace.SpanSlice) ptrace.Span, cases []faultCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			var expected ptrace.Span
			sent := batch("a", 1, func(spans ptrace.SpanSlice) {
				addCall(spans)
				span := add(spans)
				if c.spoil != nil {
					c.spoil(span)
				}
				expected = ptrace.NewSpan()
				span.CopyTo(expected)
				addCall(spans)
			})
			good := []ptrace.Span{spansOf(sent)[0], spansOf(sent)[2]}

			got := spansOf(r.receive(sent))
			assert.Equal(t, c.faults, r.faults())
			if c.gone {
				require.Len(t, got, 2)
				assert.Equal(t, good[0].Attributes().AsRaw(), got[0].Attributes().AsRaw())
				assert.Equal(t, good[1].Attributes().AsRaw(), got[1].Attributes().AsRaw())
				return
			}
			require.Len(t, got, 3)
			want := expected.Attributes().AsRaw()
			for key, value := range c.want {
				if value == nil {
					delete(want, key)
				} else {
					want[key] = value
				}
			}
			assert.Equal(t, want, got[1].Attributes().AsRaw())
			assert.Equal(t, good[0].Attributes().AsRaw(), got[0].Attributes().AsRaw())
			assert.Equal(t, good[1].Attributes().AsRaw(), got[2].Attributes().AsRaw())
			if c.also != nil {
				c.also(t, got[1])
			}
			items, skipped := methodspan.NewConverter().Items(r.sink.AllTraces()[0])
			require.Len(t, items, 1)
			assert.Zero(t, skipped, "the warehouse must be able to read what the receiver lets through")
		})
	}
}
