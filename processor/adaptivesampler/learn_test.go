package adaptivesampler

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

func lasting(span ptrace.Span, wall time.Duration) ptrace.Span {
	span.SetEndTimestamp(span.StartTimestamp() + pcommon.Timestamp(wall))
	return span
}

func counts(b batch, function string, calls int64) {
	span := b.spans.AppendEmpty()
	span.Attributes().PutStr(methodspan.AttrKind, methodspan.KindCounts)
	span.Attributes().PutStr(methodspan.AttrFunction, function)
	span.Attributes().PutInt(methodspan.AttrCalls, calls)
}

// The strategy sees everything that arrived, also the spans that were thinned.
func TestLearning_Exact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 1e-6} // nearly all spans are dropped
		config := adaptive()
		config.Rates = nil
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		random := rand.New(rand.NewPCG(1, 1))
		var want decide.Observation
		for range 5 {
			b := newBatch("shop")
			for range 100 {
				p, cpuP := 0.1+0.9*random.Float64(), 0.1+0.9*random.Float64()
				wall, cpu := 1+random.Int64N(1000), 1+random.Int64N(1000)
				span := lasting(b.call("shop/cart.(*Cart).Total", p, ""), time.Duration(wall))
				want.Wall.Records++
				want.Wall.Weight += 1 / p
				want.Wall.Sum += float64(wall) / p
				want.Wall.Squares += float64(wall*wall) / p
				if random.IntN(2) == 0 {
					span.Attributes().PutInt(methodspan.AttrCPUTime, cpu)
					span.Attributes().PutDouble(methodspan.AttrCPUP, cpuP)
					q := p * cpuP
					want.CPU.Records++
					want.CPU.Weight += 1 / q
					want.CPU.Sum += float64(cpu) / q
					want.CPU.Squares += float64(cpu*cpu) / q
				}
				switch random.IntN(3) {
				case 0:
					span.Attributes().PutStr(methodspan.AttrCaller, methodspan.CallerEntry)
					want.Entry += 1 / p
					want.Called += 1 / p
				case 1:
					span.Attributes().PutStr(methodspan.AttrCaller, "shop/web.Handler.Get")
					want.Called += 1 / p
				}
				want.Arrived = p
			}
			counts(b, "shop/cart.Cart.Total", 1000) // another spelling of the method
			want.Calls += 1000
			r.send(b.Traces)
		}
		b := newBatch("shop")
		sum := b.call("shop/cart.(*Cart).Total", 0.5, "")
		sum.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
		sum.Attributes().PutInt(methodspan.AttrMeasured, 10)
		sum.Attributes().PutInt(methodspan.AttrWallSum, 300)
		sum.Attributes().PutDouble(methodspan.AttrWallSquares, 9900)
		sum.Attributes().PutInt(methodspan.AttrCPUMeasured, 4)
		sum.Attributes().PutDouble(methodspan.AttrCPUP, 0.25)
		sum.Attributes().PutInt(methodspan.AttrCPUSum, 80)
		sum.Attributes().PutDouble(methodspan.AttrCPUSquares, 1700)
		for side, add := range map[*decide.WeightedSums]decide.WeightedSums{
			&want.Wall: {Records: 10, Weight: 20, Sum: 600, Squares: 19800},
			&want.CPU:  {Records: 4, Weight: 32, Sum: 640, Squares: 13600},
		} {
			side.Add(&add)
		}
		want.Arrived = 0.5
		r.send(b.Traces)
		turn(t)

		got := s.last()["Total"]
		assert.Equal(t, "shop/cart.Cart", got.Key.Class)
		assert.Equal(t, "shop", got.Key.Service)
		for name, pair := range map[string][2]float64{
			"calls": {want.Calls, got.Calls}, "entry": {want.Entry, got.Entry}, "called": {want.Called, got.Called}, "arrived": {want.Arrived, got.Arrived},
			"wall records": {want.Wall.Records, got.Wall.Records}, "wall weight": {want.Wall.Weight, got.Wall.Weight},
			"wall sum": {want.Wall.Sum, got.Wall.Sum}, "wall squares": {want.Wall.Squares, got.Wall.Squares},
			"cpu records": {want.CPU.Records, got.CPU.Records}, "cpu weight": {want.CPU.Weight, got.CPU.Weight},
			"cpu sum": {want.CPU.Sum, got.CPU.Sum}, "cpu squares": {want.CPU.Squares, got.CPU.Squares},
		} {
			assert.InEpsilon(t, pair[0], pair[1], 1e-12, name)
		}
		assert.False(t, got.Foreign)
		turn(t)
		assert.Empty(t, s.last(), "nothing is seen twice")
	})
}

// Calls of other SDKs are estimated from the probability with which their spans arrived. A sampler on the way can
// have lowered it.
func TestLearning_OtherSDKs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 0.5}
		config := adaptive()
		config.Rates = nil
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		b := newBatch("http")
		b.foreign("GET /cart", 0.25, methodspan.BasisAssumed, "", pcommon.TraceID{})
		b.foreign("GET /cart", 1, methodspan.BasisThreshold, "ot=th:e;rv:f0000000000000", pcommon.TraceID{}) // 1/8
		r.send(b.Traces)
		turn(t)
		got := s.last()["GET /cart"]
		assert.True(t, got.Foreign)
		assert.Equal(t, 12.0, got.Calls)
		assert.Equal(t, 0.125, got.Arrived)
	})
}

// Impossible numbers of any sender are ignored.
func TestLearning_InvalidInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 1}
		config := adaptive()
		config.Rates = nil
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		b := newBatch("shop")
		b.call("f", 1e-300, "")
		reversed := b.call("f", 1, "")
		reversed.SetEndTimestamp(0)
		far := b.call("f", 1, "")
		far.SetEndTimestamp(math.MaxUint64)
		for name, value := range map[string]float64{methodspan.AttrCPUP: math.NaN(), methodspan.AttrP: math.Inf(1)} {
			span := b.call("f", 1, "")
			span.Attributes().PutInt(methodspan.AttrCPUTime, 5)
			span.Attributes().PutDouble(name, value)
			lasting(span, 0)
		}
		for _, calls := range []float64{math.Inf(1), math.NaN(), -1} {
			span := b.call("f", 1, "")
			span.Attributes().PutStr(methodspan.AttrKind, methodspan.KindCounts)
			span.Attributes().PutDouble(methodspan.AttrCalls, calls)
		}
		for _, squares := range []float64{math.Inf(1), math.NaN(), -1, 0} {
			span := b.call("f", 1, "")
			span.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
			span.Attributes().PutInt(methodspan.AttrMeasured, 5)
			span.Attributes().PutInt(methodspan.AttrWallSum, 5)
			span.Attributes().PutDouble(methodspan.AttrWallSquares, squares)
		}
		r.send(b.Traces)
		turn(t)
		got := s.last()["f"]
		assert.Zero(t, got.Calls)
		assert.Zero(t, got.CPU)
		assert.Equal(t, decide.WeightedSums{Records: 1, Weight: 1}, got.Wall, "the one of length zero")
	})
}

// A batch that the next consumer refuses is sent again and learned once.
func TestLearning_ResendsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 1}
		config := adaptive()
		config.Rates = nil
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		request := func(seq int64) ptrace.Traces {
			b := newBatch("shop")
			resource := b.ResourceSpans().At(0).Resource().Attributes()
			resource.PutStr(methodspan.ResourceInstance, "i")
			resource.PutStr(methodspan.ResourceProcessStart, "2026-01-02T03:04:05Z")
			b.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutInt(methodspan.AttrBatchSeq, seq)
			counts(b, "f", 7)
			b.call("f", 0.5, "")
			return b.Traces
		}
		r.refuse = errors.New("full")
		for range 3 {
			require.Error(t, r.processor.ConsumeTraces(context.Background(), request(1)))
		}
		r.refuse = nil
		assert.Len(t, spansOf(r.send(request(1))), 2, "it passes all the same")
		r.send(request(2))
		turn(t)
		assert.Equal(t, 14.0, s.last()["f"].Calls)
		assert.Equal(t, 2.0, s.last()["f"].Wall.Records)
	})
}

// The number of remembered batches is bounded.
func TestLearning_RememberedResendsBounded(t *testing.T) {
	var r resends
	for i := range int64(maxFailed + 10) {
		r.remember([]batchID{{seq: i}, {seq: i}})
	}
	assert.Len(t, r.failed, maxFailed)
	assert.False(t, r.failed[batchID{seq: 9}])
	assert.True(t, r.failed[batchID{seq: 10}])
}

// The scorecard receives the number of calls above the threshold, and the strategy the time of callees.
func TestLearning_Scorecard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 1}
		config := adaptive()
		config.Rates = nil
		config.Scorecard.Enabled = true
		config.Scorecard.Inclusive.Threshold = 100
		r := startWith(t, config, 1, s, componenttest.NewNopHost())
		for range 2 { // callers are known from the second batch on
			b := newBatch("shop")
			lasting(b.call("shop/web.(*Handler).Get", 0.5, ""), 100)
			lasting(b.call("shop/web.(*Handler).Get", 0.5, ""), 99)
			for _, caller := range []string{"shop/web.Handler.Get", "shop/cart.Cart.Total", methodspan.CallerEntry, "nobody", ""} {
				span := lasting(b.call("shop/cart.(*Cart).Total", 0.25, ""), 10)
				if caller != "" {
					span.Attributes().PutStr(methodspan.AttrCaller, caller)
				}
			}
			r.send(b.Traces)
		}
		turn(t)
		got := s.last()
		assert.Equal(t, 4.0, got["Get"].Above)
		assert.Equal(t, 40.0, got["Get"].CalleeWall, "not of the method itself")
		assert.Zero(t, got["Total"].Above)
		assert.Zero(t, got["Total"].CalleeWall)
	})
}

// A method whose calls arrive aggregated is scored like one whose calls arrive singly: by each call, not by their
// mean.
func TestLearning_AggregatesScoredByCall(t *testing.T) {
	for _, meter := range []string{decide.MeterWall, decide.MeterCPU} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{unknown: 1}
			config := adaptive()
			config.Rates = nil
			config.Scorecard.Enabled, config.Scorecard.Meter = true, meter
			r := startWith(t, config, 1, s, componenttest.NewNopHost())
			b := newBatch("shop")
			each := []int64{1000, 6000, 15_000, 1000, 6000, 15_000} // a third is above the threshold, the mean is not
			var sum int64
			var squares float64
			for _, x := range each {
				single := lasting(b.call("single", 0.25, ""), time.Duration(x))
				single.Attributes().PutInt(methodspan.AttrCPUTime, x)
				single.Attributes().PutDouble(methodspan.AttrCPUP, 0.5)
				sum += x
				squares += float64(x) * float64(x)
			}
			for _, name := range []string{"sum", "blind"} {
				span := b.call(name, 0.25, "")
				span.Attributes().PutStr(methodspan.AttrKind, methodspan.KindAggregate)
				for _, side := range []string{"wall", "cpu"} {
					put := span.Attributes()
					put.PutInt("corehour."+side+".sum", sum)
					put.PutDouble("corehour."+side+".sum_squares", squares)
					if name == "blind" {
						continue
					}
					bins, counts := put.PutEmptySlice("corehour."+side+".bins"), put.PutEmptySlice("corehour."+side+".counts")
					for _, x := range each[:3] {
						bins.AppendEmpty().SetInt(int64(methodspan.BinOf(float64(x))))
						counts.AppendEmpty().SetDouble(2)
					}
				}
				span.Attributes().PutInt(methodspan.AttrMeasured, int64(len(each)))
				span.Attributes().PutInt(methodspan.AttrCPUMeasured, int64(len(each)))
				span.Attributes().PutDouble(methodspan.AttrCPUP, 0.5)
			}
			r.send(b.Traces)
			turn(t)
			got := s.last()
			weight := map[string]float64{decide.MeterWall: 4, decide.MeterCPU: 8}[meter]
			assert.Equal(t, 2*weight, got["single"].Above)
			assert.InEpsilon(t, 2*weight, got["sum"].Above, 1e-9)
			assert.Zero(t, got["blind"].Above, "without a histogram its mean is all there is")
			assert.InEpsilon(t, got["single"].Wall.Squares, got["sum"].Wall.Squares, 1e-9)
		})
	}
}
