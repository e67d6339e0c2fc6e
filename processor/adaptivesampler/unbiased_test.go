package adaptivesampler

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/corehour/corehour/internal/methodspan"
)

const attrValue = "test.value" // true cost of the call in ns

// origin is a source of measurements.
type origin struct {
	name  string
	calls int
	add   add
}

// add adds the span of a call to an empty batch. It returns false if the sampling of the source drops the call.
type add func(b batch, random *rand.Rand, call int) (ptrace.Span, bool)

// ours simulates our SDK: it draws whether to keep the call, then draws rv above the threshold.
func ours(p float64, state func(th sampling.Threshold, rv sampling.Randomness) string) add {
	th := methodspan.ThresholdOf(p)
	return func(b batch, random *rand.Rand, _ int) (ptrace.Span, bool) {
		if random.Float64() >= p {
			return ptrace.Span{}, false
		}
		rv, _ := sampling.UnsignedToRandomness(th.Unsigned() + random.Uint64N(sampling.MaxAdjustedCount-th.Unsigned()))
		return b.call("shop/cart.(*Cart).Total", p, state(th, rv)), true
	}
}

func plain(th sampling.Threshold, rv sampling.Randomness) string {
	return "ot=th:" + th.TValue() + ";rv:" + rv.RValue()
}

func traceID(random *rand.Rand) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[:8], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	return id
}

// consistent simulates a consistent sampler of another SDK.
func consistent(p float64, withRV bool) add {
	th := methodspan.ThresholdOf(p)
	return func(b batch, random *rand.Rand, _ int) (ptrace.Span, bool) {
		id := traceID(random)
		r, state := sampling.TraceIDToRandomness(id), "ot=th:"+th.TValue()
		if withRV {
			r, _ = sampling.UnsignedToRandomness(random.Uint64N(sampling.MaxAdjustedCount))
			state += ";rv:" + r.RValue()
		}
		if !th.ShouldSample(r) {
			return ptrace.Span{}, false
		}
		return b.foreign("Total", th.Probability(), methodspan.BasisThreshold, state, id), true
	}
}

// stock simulates the ratio sampler of Go's SDK, the most common one: it writes no th and keeps low trace ids.
func stock(p float64) add {
	sampler := sdktrace.TraceIDRatioBased(p)
	return func(b batch, random *rand.Rand, _ int) (ptrace.Span, bool) {
		id := traceID(random)
		result := sampler.ShouldSample(sdktrace.SamplingParameters{TraceID: trace.TraceID(id)})
		if result.Decision != sdktrace.RecordAndSample {
			return ptrace.Span{}, false
		}
		return b.foreign("Total", p, methodspan.BasisAssumed, "", id), true
	}
}

// between puts a third-party consistent sampler after an origin. It raises th and does not know corehour.p.
func between(p float64, sent add) add {
	th := methodspan.ThresholdOf(p)
	return func(b batch, random *rand.Rand, call int) (ptrace.Span, bool) {
		span, ok := sent(b, random, call)
		if !ok {
			return span, false
		}
		ot, err := methodspan.ReadOT(span.TraceState().AsRaw())
		if err != nil || !ot.HasRandomness {
			panic("only for spans with rv")
		}
		if !th.ShouldSample(ot.Randomness) {
			return span, false
		}
		if sampling.ThresholdGreater(th, ot.Threshold) {
			methodspan.SetThreshold(span, th, nil)
		}
		return span, true
	}
}

func mixed(adds ...add) add {
	return func(b batch, random *rand.Rand, call int) (ptrace.Span, bool) {
		return adds[call%len(adds)](b, random, call)
	}
}

// After any number of stages, the sum of value / p is an unbiased estimate of the true total (Horvitz and Thompson),
// and the sum of 1 / p one of the number of calls. th and rv agree with p for any tool that reads them.
func TestThinning_Unbiased(t *testing.T) {
	noState := func(sampling.Threshold, sampling.Randomness) string { return "" }
	onlyTh := func(th sampling.Threshold, _ sampling.Randomness) string { return "ot=th:" + th.TValue() }
	origins := []origin{
		{"everything, ours", 10_000, ours(1, plain)},
		{"ours", 10_000, ours(0.3, plain)},
		{"ours, already rare", 10_000, ours(0.04, plain)},
		{"ours, state lost", 10_000, ours(0.3, noState)},
		{"ours, rv lost", 10_000, ours(0.3, onlyTh)},
		{"ours, thinned in between", 10_000, between(0.15, ours(0.3, plain))},
		{"ours, thinned in between to less", 10_000, between(0.06, ours(0.3, plain))},
		{"other SDK, rv", 10_000, consistent(0.4, true)},
		{"other SDK, trace id", 10_000, consistent(0.4, false)},
		{"other SDK, no th", 10_000, stock(0.4)},
		{"other SDK, no th, rare", 100_000, stock(0.004)},
		{"other SDK, everything", 10_000, stock(1)},
		{"all together", 10_000, mixed(ours(0.3, plain), ours(0.5, noState), consistent(0.4, true), consistent(0.6, false), stock(0.2), stock(0.8))},
	}
	stages := [][]float64{{0.2}, {0.2, 0.07}, {0.07, 0.2}, {0.002, 0.5}, {0.5, 0.5, 0.05}, {0.9}}
	for i, o := range origins {
		seed := uint64(1000 + 100*i)
		sent, truth := o.send(seed)
		for j, rates := range stages {
			t.Run(fmt.Sprintf("%s/%v", o.name, rates), func(t *testing.T) {
				td := ptrace.NewTraces()
				sent.CopyTo(td)
				for k, rate := range rates {
					td = start(t, &Config{DefaultRate: rate}, seed+uint64(10*j+k)).send(td)
				}
				checkUnbiased(t, measurementsOf(td), slices.Min(rates), truth, o.calls)
			})
		}
	}
}

// send makes the calls and returns the measurements that leave the process, with the true total cost of all calls.
func (o origin) send(seed uint64) (sent ptrace.Traces, truth float64) {
	random := rand.New(rand.NewPCG(seed, 1))
	b, one := newBatch("shop/cart"), newBatch("")
	for call := range o.calls {
		value := math.Exp(0.8 * random.NormFloat64()) // skewed like real costs
		truth += value
		if span, ok := o.add(one, random, call); ok {
			span.Attributes().PutDouble(attrValue, value)
			one.spans.MoveAndAppendTo(b.spans)
		}
		one.spans.RemoveIf(func(ptrace.Span) bool { return true })
	}
	return b.Traces, truth
}

func checkUnbiased(t *testing.T, out []ptrace.Span, lowest, truth float64, calls int) {
	var total, estimated, varianceTotal, varianceNumber, aboveThreshold float64
	states := 0
	require.NotEmpty(t, out)
	for _, span := range out {
		p, x := number(t, span, methodspan.AttrP), number(t, span, attrValue)
		if p > lowest {
			t.Fatalf("p is %v, the lowest rate %v", p, lowest)
		}
		total += x / p
		estimated += 1 / p
		varianceTotal += x * x * (1 - p) / (p * p)
		varianceNumber += (1 - p) / (p * p)
		ot, err := methodspan.ReadOT(span.TraceState().AsRaw())
		if err != nil {
			t.Fatal(err)
		}
		if !ot.HasThreshold {
			continue
		}
		if math.Abs(ot.Threshold.Probability()/p-1) > 1e-9 {
			t.Fatalf("th says %v, p says %v", ot.Threshold.Probability(), p)
		}
		r := ot.Randomness
		if !ot.HasRandomness {
			r = sampling.TraceIDToRandomness(span.TraceID())
			if text(span, methodspan.AttrWeightBasis) == "" {
				continue // our SDK without rv: the trace id is not R
			}
		}
		if !ot.Threshold.ShouldSample(r) {
			t.Fatalf("th is above R in %s", span.TraceState().AsRaw())
		}
		width := float64(sampling.MaxAdjustedCount - ot.Threshold.Unsigned())
		aboveThreshold += float64(r.Unsigned()-ot.Threshold.Unsigned()) / width
		states++
	}
	z := func(estimate, truth, variance float64) float64 { return (estimate - truth) / math.Sqrt(variance) }
	assert.Less(t, math.Abs(z(total, truth, varianceTotal)), 4.0, "sum of values: %v, truth %v", total, truth)
	assert.Less(t, math.Abs(z(estimated, float64(calls), varianceNumber)), 4.0, "number of calls: %v", estimated)
	if states > 0 { // R of kept spans must be uniform above the threshold: the next stage relies on it
		assert.Less(t, math.Abs(z(aboveThreshold, float64(states)/2, float64(states)/12)), 4.0)
	}
}

// This test shows that the previous one can fail: a sampler that treats the trace ids of the stock sampler as random
// and thins by them drops all spans.
func TestThinning_ByTraceIDBiased(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	sent, kept := 0, 0
	rare, th := stock(0.001), methodspan.ThresholdOf(0.1)
	for call := range 200_000 {
		if span, ok := rare(newBatch(""), random, call); ok {
			sent++
			if th.ShouldSample(sampling.TraceIDToRandomness(span.TraceID())) {
				kept++
			}
		}
	}
	assert.Greater(t, sent, 100)
	assert.Zero(t, kept, "a tenth would be right")
}
