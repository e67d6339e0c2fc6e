package methodspans

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// dice derives choices from bytes, so that a fuzzer can steer them. After the last byte every
// choice is the first.
type dice struct{ data []byte }

func (d *dice) roll(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

func pick[T any](d *dice, from ...T) T { return from[d.roll(len(from))] }

var (
	someTexts = []string{"a.b", "shop/cart.(*Cart).Total", "", "(overflow)", "(entry)", strings.Repeat("x", 40), "a\xffb", "c.d", "e.f", "g.h", "i.j", "k.l", "\x1b[31m"}
	someKinds = []string{"call", "counts", "aggregate", "process", "call", "counts", "aggregate", "stack", "", "Call"}
	someWhole = []int64{0, 1, 3, -1, 10_000, 60_000, math.MaxInt64, math.MinInt64, methodspan.MostMeasured, methodspan.MostMeasured + 1, 1 << 62}
	someReals = []float64{0, 1, 0.5, 0.25, -1, 1.5, 1e-300, 1e300, 6e8, math.NaN(), math.Inf(1), math.Inf(-1), 9007199254740993}
	someState = []string{"", "ot=th:0", "ot=th:8;rv:ffffffffffffff", "ot=th:c;rv:00000000000000", "dd=x", "ot=th:zz", "ot=th:8", "ot=rv:00000000000000", "=", "ot=th:fffffffffffffff"}
	someTimes = []pcommon.Timestamp{pcommon.Timestamp(noon), 0, pcommon.Timestamp(noon + second), math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64, 1}
	attrNames = []string{
		methodspan.AttrFunction, methodspan.AttrP, methodspan.AttrCPUP, methodspan.AttrCPUTime, methodspan.AttrCPUState, methodspan.AttrCaller,
		methodspan.AttrStratum, methodspan.AttrSignature, methodspan.AttrStack, methodspan.AttrRequest, methodspan.AttrGroup, methodspan.AttrIDs,
		methodspan.AttrMeasured, methodspan.AttrCPUMeasured, methodspan.AttrErrors, methodspan.AttrWallSum, methodspan.AttrWallSquares, methodspan.AttrWallMax,
		methodspan.AttrWallBins, methodspan.AttrWallCounts, methodspan.AttrCPUSum, methodspan.AttrCPUSquares, methodspan.AttrCPUMax, methodspan.AttrCPUBins,
		methodspan.AttrCPUCounts, methodspan.AttrCountsMethods, methodspan.AttrCountsCalls, methodspan.AttrCalls, methodspan.AttrWeightBasis, methodspan.AttrTier,
		methodspan.AttrReason, methodspan.AttrConfiguredRate, methodspan.AttrEffectiveRate, methodspan.AttrPrice, methodspan.AttrProcessCores,
		methodspan.AttrProcessRSS, methodspan.AttrProcessFinal, methodspan.AttrSDKPrefix + "dropped", methodspan.AttrOldNamespace, methodspan.AttrOldFunction,
		methodspan.AttrCPUWaits, methodspan.AttrActivated, "http.route", "corehour.unheard.of",
	}
)

func (d *dice) value(v pcommon.Value, depth int) {
	switch d.roll(8) {
	case 0:
		v.SetStr(pick(d, someTexts...))
	case 1, 2:
		v.SetInt(pick(d, someWhole...))
	case 3, 4:
		v.SetDouble(pick(d, someReals...))
	case 5:
		v.SetBool(true)
	case 6:
		slice := v.SetEmptySlice()
		for range d.roll(6) {
			if depth > 2 {
				return
			}
			d.value(slice.AppendEmpty(), depth+1)
		}
	case 7:
		v.SetStr(pick(d, methodspan.CPUExact, methodspan.CPUNotSampled, methodspan.StratumTail, methodspan.BasisThreshold, methodspan.IDsSynthetic))
	}
}

// span is one of ours or a foreign one, with a few things changed.
func (d *dice) span(spans ptrace.SpanSlice) {
	var span ptrace.Span
	switch d.roll(6) {
	case 0:
		span = addCall(spans)
	case 1:
		var pairs []any
		for range d.roll(6) {
			pairs = append(pairs, pick(d, someTexts...), pick(d, someWhole...))
		}
		span = addCounts(spans, pairs...)
	case 2:
		span = addAggregate(spans)
	case 3:
		span = addProcess(spans)
	default:
		span = addForeign(spans, byte(d.roll(4)), byte(d.roll(4)))
		span.SetFlags(uint32(d.roll(4)) << 8)
	}
	for range d.roll(5) {
		switch d.roll(7) {
		case 0:
			span.SetName(pick(d, someTexts...))
		case 1:
			span.SetStartTimestamp(pick(d, someTimes...))
		case 2:
			span.SetEndTimestamp(pick(d, someTimes...))
		case 3:
			span.TraceState().FromRaw(pick(d, someState...))
		case 4:
			span.Attributes().PutStr(methodspan.AttrKind, pick(d, someKinds...))
		case 5:
			span.Attributes().Remove(pick(d, attrNames...))
		case 6:
			d.value(span.Attributes().PutEmpty(pick(d, attrNames...)), 0)
		}
	}
}

func (d *dice) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	for range 1 + d.roll(3) {
		addBatch(td, pick(d, "a", "b", ""), int64(d.roll(3)), func(spans ptrace.SpanSlice) {
			for range d.roll(8) {
				d.span(spans)
			}
		})
		if d.roll(8) == 0 {
			last := td.ResourceSpans().At(td.ResourceSpans().Len() - 1)
			d.value(last.ScopeSpans().At(0).Scope().Attributes().PutEmpty(methodspan.AttrCallsTotal), 0)
			d.value(last.Resource().Attributes().PutEmpty(methodspan.AttrPrice), 0)
		}
		if d.roll(4) == 0 {
			last := td.ResourceSpans().At(td.ResourceSpans().Len() - 1)
			last.ScopeSpans().At(0).Scope().SetName(pick(d, someTexts...))
			d.value(last.Resource().Attributes().PutEmpty(methodspan.ResourceService), 0)
		}
	}
	return td
}

// callsIn returns the calls of all valid entries of the counts of a request.
func callsIn(td ptrace.Traces) *big.Int {
	total := new(big.Int)
	add := func(v pcommon.Value) {
		if n, ok := methodspan.IntOf(v); ok && n >= 0 {
			total.Add(total, big.NewInt(n))
		}
	}
	for _, span := range spansOf(td) {
		attributes := span.Attributes()
		if k, ok := attributes.Get(methodspan.AttrKind); !ok || k.Str() != methodspan.KindCounts {
			continue
		}
		calls, hasCalls := attributes.Get(methodspan.AttrCountsCalls)
		_, hasMethods := attributes.Get(methodspan.AttrCountsMethods)
		if hasCalls && calls.Type() == pcommon.ValueTypeSlice {
			for _, v := range calls.Slice().All() {
				add(v)
			}
		} else if single, ok := attributes.Get(methodspan.AttrCalls); ok && !hasCalls && !hasMethods {
			add(single)
		}
	}
	return total
}

func nowForTest() time.Time { return time.Unix(0, noon) }

// checkNormalization asserts the invariants for any input: no panics, every received call is
// passed on or counted as lost, the warehouse can read all spans, names are bounded, and
// normalising twice equals once.
func checkNormalization(t *testing.T, td ptrace.Traces) (faults []string) {
	t.Helper()
	config := testConfig(func(c *Config) { c.Limits.MaxMethods, c.Limits.MaxNameLength = 5, leastNameLength })
	n := newNormalizer(config, nowForTest)
	p := newRequestPass()
	in := callsIn(td)
	n.repairResources(td, &p.requestCounts)
	n.normalize(td, p)
	out := callsIn(td)
	faults = p.faultNames()
	if p.lostCalls < math.MaxInt64 { // it saturates
		if got := new(big.Int).Add(out, big.NewInt(p.lostCalls)); in.Cmp(got) != 0 {
			t.Fatalf("%v calls came in, %v went out, %d are a named loss", in, out, p.lostCalls)
		}
	}

	ours := ptrace.NewTraces()
	td.CopyTo(ours)
	for _, rs := range ours.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(span ptrace.Span) bool { return !isMethodSpan(span) })
		}
	}
	if _, skipped := methodspan.NewConverter().Items(ours); skipped != (methodspan.Skipped{}) {
		t.Fatalf("the warehouse cannot read some spans: %+v", skipped)
	}
	distinct := map[string]map[string]bool{}
	for _, rs := range td.ResourceSpans().All() {
		service := methodspan.ReadResource(rs.Resource()).Service
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				k, _ := span.Attributes().Get(methodspan.AttrKind)
				if f, ok := identityOf(span, ss.Scope().Name()); ok && isMethodSpan(span) && k.Str() != methodspan.KindProcess {
					if distinct[service] == nil {
						distinct[service] = map[string]bool{}
					}
					distinct[service][f.Function().Full()] = true
				}
			}
		}
	}
	for service, names := range distinct {
		if len(names) > config.Limits.MaxMethods+1 {
			t.Fatalf("service %q has %d methods: %v", service, len(names), names)
		}
	}

	first, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	p.reset()
	n.repairResources(td, &p.requestCounts)
	n.normalize(td, p)
	second, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Fatalf("a second pass changed the spans, faults %v", p.faultNames())
	}
	return faults
}

func isMethodSpan(span ptrace.Span) bool {
	k, ok := span.Attributes().Get(methodspan.AttrKind)
	if !ok {
		return false
	}
	switch k.Str() {
	case methodspan.KindCall, methodspan.KindCounts, methodspan.KindAggregate, methodspan.KindProcess:
		return true
	}
	return false
}

func (t *requestCounts) faultNames() (names []string) {
	for i := range t.faults {
		for j, n := range t.faults[i] {
			if n > 0 {
				names = append(names, outcomeNames[j]+" "+reasonNames[i])
			}
		}
	}
	return names
}

func TestNormalizer_Properties(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	reasons := map[string]bool{}
	for seed := range uint64(4000) {
		random := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 20+random.IntN(300))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		ok := t.Run("", func(t *testing.T) {
			for _, name := range checkNormalization(t, (&dice{data}).traces()) {
				reasons[strings.Fields(name)[1]] = true
			}
		})
		if !ok {
			t.Fatalf("seed %d", seed)
		}
	}
	// The generator must reach every fault.
	for i, name := range reasonNames {
		if r := faultReason(i); r != attributeDuplicate && r != identityIncomplete && r != batchConflict && !reasons[name] {
			t.Errorf("no generated request has the fault %s", name)
		}
	}
}

func FuzzNormalizeShaped(f *testing.F) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkNormalization(t, (&dice{data}).traces()) })
}

// FuzzNormalizeWire normalises any request that the decoder accepts.
func FuzzNormalizeWire(f *testing.F) {
	for _, td := range []ptrace.Traces{
		batch("a", 1, func(spans ptrace.SpanSlice) { addCall(spans); addCounts(spans, "a.b", 3, "c.d", 4) }),
		batch("a", 2, func(spans ptrace.SpanSlice) { addAggregate(spans); addProcess(spans) }),
		foreign("web", func(spans ptrace.SpanSlice) { addForeign(spans, 1, 0); addForeign(spans, 2, 1) }),
	} {
		wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire)
		if err != nil {
			return
		}
		checkNormalization(t, td)
	})
}
