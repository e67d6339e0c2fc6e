package adaptivesampler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

// crowd simulates the processes of a service. The call rates of its methods span five orders of magnitude. The
// processes sample at p and ignore served rates.
type crowd struct {
	service string
	p       float64
	random  *rand.Rand
	emitted float64
}

func hotness(i int) float64 { return 0.5 * math.Pow(400_000, float64(i)/59) } // calls per second

// send sends the measurements of a time d, times a factor, and calls keep for each kept record.
func (c *crowd) send(r *rig, d time.Duration, times float64, keep func(method int, p float64)) {
	b := newBatch("")
	b.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceService, c.service)
	th := methodspan.ThresholdOf(c.p)
	for i := range 60 {
		expected := hotness(i) * c.p * d.Seconds() * times
		n := int(expected)
		if c.random.Float64() < expected-float64(n) {
			n++
		}
		for range n {
			rv, _ := sampling.UnsignedToRandomness(th.Unsigned() + c.random.Uint64N(sampling.MaxAdjustedCount-th.Unsigned()))
			b.call(fmt.Sprint("shop/cart.M", i), c.p, plain(th, rv)).Attributes().PutInt("test.method", int64(i))
		}
		c.emitted += float64(n)
	}
	for _, span := range spansOf(r.send(b.Traces)) {
		keep(int(number(r.t, span, "test.method")), number(r.t, span, methodspan.AttrP))
	}
}

// Intervals end half way between full minutes of the clock, independent of the start of the collector and of late
// or early steps. The first is at least half an interval long.
func TestInterval_FollowsClock(t *testing.T) {
	full := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for begins, ends := range map[time.Duration]time.Duration{0: 30, 1: 90, 29: 90, 30: 90, 31: 90, 59: 90, 60: 90} {
		assert.Equal(t, full.Add(ends*time.Second), endOf(full.Add(begins*time.Second), time.Minute), begins)
	}
	assert.Equal(t, full.Add(90*time.Second), endOf(full.Add(30*time.Second-time.Millisecond), time.Minute), "a step that is early by the clock")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(47 * time.Second)
		config := adaptive()
		config.Rates = nil
		r := start(t, config, 1)
		time.Sleep(42 * time.Second)
		synctest.Wait()
		assert.NotContains(t, fmt.Sprint(r.counters()), "steps: ")
		for i := range 3 {
			time.Sleep(2 * time.Second)
			synctest.Wait()
			assert.Contains(t, r.counters(), fmt.Sprint("steps: ", i+1))
			time.Sleep(58 * time.Second)
		}
	})
}

// From the first second on, no interval keeps more than its limit under any load. The kept records represent all
// calls.
func TestLimit_HoldsInEveryInterval(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		config := adaptive()
		config.Rates = nil
		r := start(t, config, 1)
		c := &crowd{service: "shop", p: 0.001, random: rand.New(rand.NewPCG(3, 3))}
		for interval, times := range []float64{1, 1, 20, 20, 0.1} {
			kept, estimated, variance := 0.0, 0.0, 0.0
			c.emitted = 0
			for second := range 60 {
				load := times
				if interval == 2 && second < 30 {
					load = 1 // the load rises within an interval
				}
				c.send(r, time.Second, load, func(_ int, p float64) {
					kept++
					estimated += 1 / p
					variance += (1/p - 1/c.p) / p
				})
				time.Sleep(time.Second)
			}
			synctest.Wait()
			// The last review expects the rest of the interval, so chance adds up to a percent.
			assert.LessOrEqual(t, kept, 1.01*1.25*25*60, "interval %d", interval)
			z := (estimated - c.emitted/c.p) / math.Sqrt(variance+1)
			assert.Less(t, math.Abs(z), 4.5, "interval %d: %v kept stand for %v of %v", interval, kept, estimated, c.emitted/c.p)
			if interval < 2 {
				assert.GreaterOrEqual(t, kept, 0.6*25*60, "interval %d", interval)
			}
		}
		assert.Contains(t, fmt.Sprint(r.counters()), "outcome=limited")
	})
}

// The first calls of a new method of a known version are kept at the rate they arrive with, as for the first
// methods of a version. They are not thinned to the served rate.
func TestLimit_NewMethodStartsAtArrivingRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := adaptive()
		config.ColdStart.Thin = false
		config.Rates = nil
		r := start(t, config, 1)
		for range 3 {
			b := of("1")
			b.call("c.first", 1, "")
			counts(b, "c.first", 1)
			r.send(b.Traces)
			time.Sleep(config.Interval + time.Second)
			synctest.Wait()
		}
		b := of("1")
		for range 50 {
			b.call("c.later", 1, "")
		}
		assert.Len(t, spansOf(r.send(b.Traces)), 50)
	})
}

// The limits hold for a service that appears at a running collector, and for all services together.
func TestLimit_NewServiceAndTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		config := adaptive()
		config.Rates = nil
		config.Limit.TotalRecordsPerSecond = 40
		r := start(t, config, 1)
		random := rand.New(rand.NewPCG(3, 3))
		total := 0.0
		services := []*crowd{{service: "shop", p: 0.001, random: random}, {service: "mail", p: 0.01, random: random}, {service: "bill", p: 0.002, random: random}}
		for second := range 60 {
			for i, c := range services {
				if second >= 20*i {
					c.send(r, time.Second, 0.2, func(int, float64) { total++ })
				}
			}
			time.Sleep(time.Second)
		}
		assert.LessOrEqual(t, total, 1.1*40*60)
		assert.GreaterOrEqual(t, total, 0.6*40*60)
	})
}

// Counts, aggregates and tail samples always pass, as do methods with a fixed rate in the method file. A `min` of
// the file is respected.
func TestLimit_Exemptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := adaptive()
		config.Budget.RecordsPerSecond = 0.1
		config.FloorRecordsPerDay = 0
		config.MethodsFile = methodsFile(t, `{"version": 1, "methods": [
			{"class": "c", "method": "pinned", "rate": 0.5}, {"class": "c", "method": "bounded", "min": 0.02, "max": 1}]}`)
		d := &desk{}
		r := startWith(t, config, 1, strategyOf(config), host{deskID: d})
		kept := map[string]int{}
		lowest := 1.0
		for range 20 {
			b := of("1")
			for range 100 {
				b.call("c.pinned", 1, "")
				b.call("c.bounded", 1, "")
				b.call("c.free", 1, "")
				b.call("c.slow", 1, "").Attributes().PutStr(methodspan.AttrStratum, methodspan.StratumTail)
			}
			counts(b, "c.free", 100)
			for _, span := range spansOf(r.send(b.Traces)) {
				name := text(span, methodspan.AttrFunction) + " " + text(span, methodspan.AttrKind)
				kept[name]++
				if name == "c.bounded call" {
					lowest = min(lowest, number(t, span, methodspan.AttrP))
				}
			}
		}
		assert.InDelta(t, 1000, kept["c.pinned call"], 120)
		assert.Equal(t, 0.02, lowest)
		assert.Less(t, kept["c.free call"], 20)
		assert.Equal(t, 2000, kept["c.slow call"])
		assert.Equal(t, 20, kept["c.free counts"])
		explained := d.source.Explain(rates.Target{Service: "shop"}, "c.free")
		require.Len(t, explained, 1)
		assert.Contains(t, explained[0].Reason, reasonLimit)
	})
}

// Concurrent batches of many receivers share one limit.
func TestLimit_SharedByConcurrentBatches(t *testing.T) {
	config := adaptive()
	config.Rates = nil
	r := startWith(t, config, 1, strategyOf(config), componenttest.NewNopHost())
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 10 {
				b := newBatch("")
				for j := range 1000 {
					b.call(fmt.Sprint("shop/cart.M", (i+j)%60), 0.01, "")
				}
				assert.NoError(t, r.processor.ConsumeTraces(t.Context(), b.Traces))
			}
		}()
	}
	for range 8 {
		<-done
	}
	kept := 0
	for _, td := range r.sink.AllTraces() {
		kept += len(spansOf(td))
	}
	assert.LessOrEqual(t, float64(kept), 1.3*25*60)
}

func TestLimit_Validated(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Limit.RecordsPerSecond = -1 }, "`limit::records_per_second` must be a number that is not negative, found -1"},
		{func(c *Config) { c.Limit.TotalRecordsPerSecond = math.NaN() }, "`limit::total_records_per_second` must be a number"},
		{func(c *Config) { c.Limit.RecordsPerSecond = 10 }, "`limit::records_per_second` must be at least `budget::records_per_second` (25), found 10"},
	} {
		config := adaptive()
		c.change(config)
		assert.ErrorContains(t, config.Validate(), c.want)
	}
}
