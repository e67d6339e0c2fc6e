package adaptivesampler

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
)

// For any input: a probability never rises, the output is consistent, and spans that are not measurements pass.
func FuzzProcess(f *testing.F) {
	f.Add("call", "shop/cart.(*Cart).Total", "", 0.5, "", "ot=th:8;rv:d0000000000000", uint64(1))
	f.Add("call", "Cart.total", "assumed", 1.0, "", "", uint64(2))
	f.Add("call", "f", "threshold", 0.5, "", "ot=th:8", uint64(3))
	f.Add("call", "f", "", 1.0, "", "ot=th:f;rv:00000000000000", uint64(4))
	f.Add("call", "f", "exact", 1.0, "tail", "a=b,ot=th:0;rv:00000000000000;x:y", uint64(5))
	f.Add("aggregate", "(overflow)", "", 0.1, "", "ot=th:0", uint64(6))
	f.Add("counts", "", "", 0.0, "", "=,;=", uint64(7))
	f.Add("what", "\xff", "\x00", -1.0, "x", "ot=th:zz;rv:;;", uint64(8))
	f.Add("call", "f", "", 1.0, "", "ot=th:;rv:00000000000000", uint64(9))
	f.Add("call", "f", "", 1e-300, "", "ot=th:00000000000001;rv:ffffffffffffff", uint64(10))
	path := methodsFile(f, twoTiers)
	f.Fuzz(func(t *testing.T, kind, function, basis string, p float64, stratum, state string, seed uint64) {
		r := start(t, &Config{MethodsFile: path, DefaultRate: 0.125}, seed)
		b := newBatch("scope")
		span := b.call(function, p, state)
		span.Attributes().PutStr(methodspan.AttrKind, kind)
		span.Attributes().PutStr(methodspan.AttrStratum, stratum)
		span.Attributes().PutStr(methodspan.AttrWeightBasis, basis)
		span.SetTraceID(pcommon.TraceID{9: byte(seed), 15: byte(seed >> 8)})
		spans := measurementsOf
		if kind == methodspan.KindCounts {
			spans = spansOf
		}
		out := spans(r.send(b.Traces))
		measurement := kind == methodspan.KindCall && stratum != methodspan.StratumTail && methodspan.ValidProbability(p)
		off := function == "shop/web.Handler.Ping" || function == "shop/web.(*Handler).Ping"
		if len(out) == 0 {
			require.True(t, measurement || off && kind != methodspan.KindCounts, "what is no measurement passes")
			return
		}
		if !measurement {
			require.Equal(t, state, out[0].TraceState().AsRaw())
			return
		}
		effective := number(t, out[0], methodspan.AttrP)
		require.True(t, effective > 0 && effective <= p)
		require.LessOrEqual(t, effective, number(t, out[0], methodspan.AttrConfiguredRate))
		if after := out[0].TraceState().AsRaw(); after != state {
			ot, err := methodspan.ReadOT(after)
			require.NoError(t, err)
			if ot.HasThreshold {
				require.InEpsilon(t, effective, ot.Threshold.Probability(), 1e-9)
				require.True(t, !ot.HasRandomness || ot.Threshold.ShouldSample(ot.Randomness))
			}
		}
		// A second stage with the same rates changes nothing.
		again := start(t, &Config{MethodsFile: path, DefaultRate: 0.125}, seed)
		require.Len(t, spans(again.send(r.sink.AllTraces()[0])), 1)
	})
}
