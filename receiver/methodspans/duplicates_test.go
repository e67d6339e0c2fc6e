package methodspans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

var errDown = errors.New("the pipeline is down")

// gate is a pipeline in which every request waits for its outcome.
type gate struct {
	arrived  chan ptrace.Traces
	outcomes chan error
}

func newGate() *gate { return &gate{make(chan ptrace.Traces), make(chan error)} }

func (*gate) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (g *gate) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	g.arrived <- td
	return <-g.outcomes
}

// consume is a pipeline that calls a function.
type consume func(ptrace.Traces) error

func (consume) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (c consume) ConsumeTraces(_ context.Context, td ptrace.Traces) error { return c(td) }

func testIntake(t *testing.T, config *Config, next consumer.Traces) *intake {
	in, err := newIntake(config, componenttest.NewNopTelemetrySettings(), next)
	require.NoError(t, err)
	t.Cleanup(in.shutdown)
	return in
}

func counts(instance string, seq int64) ptrace.Traces {
	return batch(instance, seq, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) })
}

func TestDuplicates_ResendDropped(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	require.NoError(t, r.export(counts("a", 1)))
	require.NoError(t, r.export(counts("a", 1)), "the sender must hear that it arrived")
	require.NoError(t, r.export(counts("b", 1)), "another process")
	require.NoError(t, r.export(counts("a", 2)), "another batch")
	assert.Len(t, r.sink.AllTraces(), 3)
	assert.Equal(t, map[string]int64{"": 1}, r.counted("duplicates"))
	assert.Equal(t, map[string]int64{"counts": 3}, r.counted("received"))
}

func TestDuplicates_ResendAfterFailurePasses(t *testing.T) {
	for _, failure := range []error{errDown, consumererror.NewPermanent(errDown)} {
		answers := []error{failure, nil}
		passed := 0
		r := start(t, testConfig(nil), consume(func(ptrace.Traces) error {
			passed++
			answer := answers[0]
			answers = answers[1:]
			return answer
		}))
		require.Error(t, r.export(counts("a", 1)))
		require.NoError(t, r.export(counts("a", 1)))
		require.NoError(t, r.export(counts("a", 1)))
		assert.Equal(t, 2, passed)
		assert.Equal(t, map[string]int64{"": 1}, r.counted("duplicates"))
	}
}

// A request can contain several batches, some of them known.
func TestDuplicates_MergedRequests(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	require.NoError(t, r.export(counts("a", 1)))
	td := counts("a", 2)
	addBatch(td, "a", 1, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) }) // known
	addBatch(td, "a", 2, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) }) // twice in this request
	addBatch(td, "b", 1, func(spans ptrace.SpanSlice) { addCounts(spans, "a.b", 1) })
	foreign("web", func(spans ptrace.SpanSlice) { addForeign(spans, 1, 0) }).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	got := r.receive(td)
	assert.Equal(t, 3, got.ResourceSpans().Len())
	assert.EqualValues(t, 2, callsOf(got)["a.b"])
	assert.Equal(t, map[string]int64{"": 2}, r.counted("duplicates"))
}

// Without instance or process start, the number can belong to another process. The batch is kept,
// even if a resend is then counted twice.
// A stock SDK sends a batch again when it did not get the answer. It has no number, so the ids of its spans identify it,
// while the first copy is in the pipeline and after that.
func TestDuplicates_OtherSDKs(t *testing.T) {
	of := func(first byte) ptrace.Traces {
		return foreign("web", func(spans ptrace.SpanSlice) {
			for i := range byte(3) {
				addForeign(spans, first+i, 0)
			}
		})
	}
	next := newGate()
	in := testIntake(t, testConfig(nil), next)
	outcomes := make(chan error)
	send := func(td ptrace.Traces) { go func() { outcomes <- in.ConsumeTraces(t.Context(), td) }() }
	send(of(1))
	<-next.arrived
	send(of(1)) // waits for the first copy, which fails
	next.outcomes <- errDown
	require.ErrorIs(t, <-outcomes, errDown)
	<-next.arrived
	next.outcomes <- nil
	require.NoError(t, <-outcomes)
	send(of(1)) // dropped
	require.NoError(t, <-outcomes)
	send(of(4)) // another batch
	assert.Equal(t, 3, (<-next.arrived).SpanCount())
	next.outcomes <- nil
	require.NoError(t, <-outcomes)
	for i := range maxUnnumbered + 10 {
		in.batches.unnumbered.Add(int64(i), struct{}{}, "sender")
	}
	assert.Equal(t, maxUnnumbered, in.batches.unnumbered.Len())
}

func TestDuplicates_IncompleteIdentityPasses(t *testing.T) {
	for _, missing := range []string{methodspan.ResourceInstance, methodspan.ResourceProcessStart} {
		r := start(t, testConfig(nil), nil)
		for range 2 {
			td := counts("a", 1)
			td.ResourceSpans().At(0).Resource().Attributes().Remove(missing)
			require.NoError(t, r.export(td))
		}
		assert.Len(t, r.sink.AllTraces(), 2)
		assert.Equal(t, []string{"passed identity_incomplete x2"}, r.faults())
	}
}

func TestDuplicates_UnnumberedPass(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	for range 2 {
		require.NoError(t, r.export(counts("a", 0)))
	}
	assert.Len(t, r.sink.AllTraces(), 2)
	assert.Equal(t, []string{"passed batch_unnumbered x2"}, r.faults())
}

func TestDuplicates_WaitForOutcome(t *testing.T) {
	for name, outcome := range map[string]error{"accepted": nil, "refused": errDown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				in := testIntake(t, testConfig(nil), g)
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- in.ConsumeTraces(t.Context(), counts("a", 1)) }()
				<-g.arrived
				go func() { second <- in.ConsumeTraces(t.Context(), counts("a", 1)) }()
				synctest.Wait()
				assert.Empty(t, second, "the repeat waits")

				g.outcomes <- outcome
				assert.ErrorIs(t, <-first, outcome)
				if outcome == nil {
					assert.NoError(t, <-second, "dropped: the first arrived")
					return
				}
				<-g.arrived // processed: the first did not arrive
				g.outcomes <- nil
				assert.NoError(t, <-second)
			})
		})
	}
}

func TestDuplicates_WaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		in := testIntake(t, testConfig(nil), g)
		first := make(chan error, 1)
		go func() { first <- in.ConsumeTraces(t.Context(), counts("a", 1)) }()
		<-g.arrived

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		err := in.ConsumeTraces(ctx, counts("a", 1))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, consumererror.IsPermanent(err), "the sender is to send again")
		assert.Equal(t, 5*time.Second, time.Since(began))

		g.outcomes <- nil
		assert.NoError(t, <-first)
		assert.NoError(t, in.ConsumeTraces(t.Context(), counts("a", 1)), "known by now")
	})
}

// Two requests have the same batches in opposite order. If numbers were claimed one by one, each
// would wait for the other.
func TestDuplicates_MergedRequestsDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		in := testIntake(t, testConfig(nil), g)
		ab, ba := counts("a", 1), counts("b", 1)
		counts("b", 1).ResourceSpans().MoveAndAppendTo(ab.ResourceSpans())
		counts("a", 1).ResourceSpans().MoveAndAppendTo(ba.ResourceSpans())
		done := make(chan error, 3)
		go func() { done <- in.ConsumeTraces(t.Context(), counts("a", 1)) }() // makes both wait
		<-g.arrived
		go func() { done <- in.ConsumeTraces(t.Context(), ab) }()
		go func() { done <- in.ConsumeTraces(t.Context(), ba) }()
		synctest.Wait()
		g.outcomes <- errDown
		td := <-g.arrived // one of the two, with both batches
		assert.Equal(t, 2, td.ResourceSpans().Len())
		g.outcomes <- nil
		var errs []error
		for range 3 {
			errs = append(errs, <-done)
		}
		assert.ElementsMatch(t, []error{errDown, nil, nil}, errs)
	})
}

// A panic in the pipeline must not leave batches in flight.
func TestDuplicates_PanicReleasesBatch(t *testing.T) {
	calls := 0
	in := testIntake(t, testConfig(nil), consume(func(ptrace.Traces) error {
		calls++
		if calls == 1 {
			panic("boom")
		}
		return nil
	}))
	assert.Panics(t, func() { _ = in.ConsumeTraces(t.Context(), counts("a", 1)) })
	assert.NoError(t, in.ConsumeTraces(t.Context(), counts("a", 1)))
	assert.Equal(t, 2, calls)
}

// Many senders send the same batches at once, again after failures and again
// after success, while the pipeline fails at random: it must accept every batch
// exactly once.
func TestDuplicates_ConcurrentAcceptedOnce(t *testing.T) {
	const senders, processes, batches = 8, 3, 40
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	accepted := map[string]int{}
	r := start(t, testConfig(nil), consume(func(td ptrace.Traces) error {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < 0.4 {
			return errDown
		}
		for _, rs := range td.ResourceSpans().All() {
			instance, _ := rs.Resource().Attributes().Get(methodspan.ResourceInstance)
			seq, _, _ := methodspan.BatchOf(rs.ScopeSpans().At(0).Scope())
			accepted[fmt.Sprintf("%s-%d", instance.Str(), seq)]++
		}
		return nil
	}))
	var wg sync.WaitGroup
	for sender := range senders {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(sender), 3))
			for seq := int64(1); seq <= batches; seq++ {
				td := counts("p0", seq)
				for p := 1; p < processes; p++ {
					if random.IntN(2) == 0 { // merged with others, in any order
						counts(fmt.Sprintf("p%d", p), seq).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
					}
				}
				if random.IntN(2) == 0 && td.ResourceSpans().Len() > 1 {
					td.ResourceSpans().At(0).CopyTo(td.ResourceSpans().AppendEmpty())
					first := true
					td.ResourceSpans().RemoveIf(func(ptrace.ResourceSpans) bool { was := first; first = false; return was })
				}
				for sent := 0; sent < 2; {
					if r.export(td) == nil {
						sent++ // and once more, as after an answer that got lost
					}
				}
			}
		})
	}
	wg.Wait()
	assert.GreaterOrEqual(t, len(accepted), batches)
	for seq := 1; seq <= batches; seq++ {
		assert.Contains(t, accepted, fmt.Sprintf("p0-%d", seq))
	}
	for key, n := range accepted {
		assert.Equal(t, 1, n, key)
	}
	assert.Empty(t, r.counted("table_size")["batches"], "nothing stays in flight")
}

func TestBatches_InstancesBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.MaxInstances = 2 }), nil)
	for _, instance := range []string{"a", "b", "a", "c"} { // a is used again before c comes: b goes
		require.NoError(t, r.export(counts(instance, 1)))
	}
	assert.Equal(t, map[string]int64{"instances": 1}, r.counted("overflow"))
	assert.EqualValues(t, 2, r.counted("table_size")["instances"])
	require.NoError(t, r.export(counts("a", 1)))
	assert.Equal(t, map[string]int64{"": 2}, r.counted("duplicates"), "a is still known")
	require.NoError(t, r.export(counts("b", 1)))
	assert.Equal(t, map[string]int64{"": 2}, r.counted("duplicates"), "b is not: what is forgotten passes")
}

func TestBatches_RememberedBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.RememberedBatches = 3 }), nil)
	for _, seq := range []int64{1, 2, 3, 4} {
		require.NoError(t, r.export(counts("a", seq)))
	}
	require.NoError(t, r.export(counts("a", 2)))
	assert.Equal(t, map[string]int64{"": 1}, r.counted("duplicates"))
	require.NoError(t, r.export(counts("a", 1)), "too far back to tell: it passes, counted")
	assert.Equal(t, map[string]int64{"": 1}, r.counted("duplicates"))
	assert.Equal(t, map[string]int64{"batches": 1}, r.counted("overflow"))
}

func TestSequenceWindow_LargestNumber(t *testing.T) {
	w := newSequenceWindow(1024)
	for _, n := range []int64{1, math.MaxInt64, math.MaxInt64 - 100, 2, math.MaxInt64 - 1} {
		w.remember(n, 7)
	}
	for n, want := range map[int64]uint32{1: 0, 2: 0, math.MaxInt64 - 100: 7, math.MaxInt64 - 99: 0, math.MaxInt64 - 1: 7, math.MaxInt64: 7} {
		got, _ := w.seen(n)
		assert.Equal(t, want, got, n)
	}
}

// Within its size the window agrees with a set of all numbers.
func TestSequenceWindow_EqualsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{1, 2, 3, 63, 64, 65, 100, 1024} {
		w := newSequenceWindow(size)
		seen := map[int64]uint32{}
		var next, highest int64 = 1, 0
		for range 5000 {
			n := next
			switch random.IntN(4) {
			case 0: // back
				n = max(1, next-int64(random.IntN(2*size+2)))
			case 1: // ahead
				n = next + int64(random.IntN(2*size+2))
			}
			next = max(next, n+1)
			got, old := w.seen(n)
			if wantOld := n <= highest && highest-n >= int64(size); wantOld != old || !old && got != seen[n] {
				t.Fatalf("size %d, highest %d: seen(%d) = %v, old %v; want %v", size, highest, n, got, old, seen[n])
			}
			digest := random.Uint32N(1000) + 1
			w.remember(n, digest)
			if !old && seen[n] == 0 {
				seen[n] = digest
			}
			highest = max(highest, n)
		}
	}
}
