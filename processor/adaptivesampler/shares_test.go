package adaptivesampler

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// at returns the context of a request from an address.
func at(address string) context.Context {
	return client.NewContext(context.Background(), client.Info{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: rand.IntN(60_000)}})
}

const (
	hostOfVictim   = "192.0.2.1"
	hostOfAttacker = "192.0.2.2"
)

// sharing returns a configuration with a total limit of 10 records per second.
func sharing() *Config {
	config := adaptive()
	config.ColdStart.Thin = false
	config.Rates = nil
	config.Budget.RecordsPerSecond = 5
	config.Limit.RecordsPerSecond = 1e9
	config.Limit.TotalRecordsPerSecond = 10
	return config
}

// fill adds one measurement with probability p for each of the calls.
func (b batch) fill(random *rand.Rand, function string, calls int, p float64) {
	th := methodspan.ThresholdOf(p)
	for range calls {
		rv, _ := sampling.UnsignedToRandomness(th.Unsigned() + random.Uint64N(sampling.MaxAdjustedCount-th.Unsigned()))
		b.call(function, p, plain(th, rv))
	}
}

// shop is a service of 20 methods. They send 3 measurements per second in total, sampled at 1 in 100 calls.
type shop struct {
	random   *rand.Rand
	sent     float64
	kept     []float64 // by method
	calls    float64   // estimated from kept records
	variance float64
}

const shopP = 0.01

func (s *shop) second(r *rig, from string) {
	b := newBatch("")
	for range 3 {
		name := fmt.Sprint("shop/cart.M", int(s.sent)%20)
		b.fill(s.random, name, 1, shopP)
		counts(b, name, 1/shopP)
		s.sent++
	}
	for _, span := range spansOf(r.sendFrom(from, b.Traces)) {
		if text(span, methodspan.AttrKind) != methodspan.KindCall {
			continue
		}
		var i int
		_, err := fmt.Sscanf(text(span, methodspan.AttrFunction), "shop/cart.M%d", &i)
		require.NoError(r.t, err)
		p := number(r.t, span, methodspan.AttrP)
		s.kept[i]++
		s.calls += 1 / p
		s.variance += (1/p - 1/shopP) / p
	}
}

// sendFrom sends td from an address and returns the output.
func (r *rig) sendFrom(address string, td ptrace.Traces) ptrace.Traces {
	r.t.Helper()
	r.sink.Reset()
	require.NoError(r.t, r.processor.ConsumeTraces(at(address), td))
	if len(r.sink.AllTraces()) == 0 {
		return ptrace.NewTraces()
	}
	return r.sink.AllTraces()[0]
}

// attack returns the request of another address in a given second.
type attack func(random *rand.Rand, second int) ptrace.Traces

const flooded = 1000 // measurements per second: 100 times the total

func floodOf(service, version string, name func(i int) string) attack {
	return func(random *rand.Rand, second int) ptrace.Traces {
		b := newBatch("")
		resource := b.ResourceSpans().At(0).Resource().Attributes()
		resource.PutStr(methodspan.ResourceService, service)
		resource.PutStr(methodspan.ResourceVersion, version)
		for i := range flooded {
			b.fill(random, name(second*flooded+i), 1, shopP)
		}
		return b.Traces
	}
}

// invented returns 1,000 services per second, out of 60,000, with one measurement each.
func invented(random *rand.Rand, second int) ptrace.Traces {
	td := ptrace.NewTraces()
	for i := range flooded {
		b := newBatch("")
		b.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceService, fmt.Sprint("invented", (second*flooded+i)%60_000))
		b.fill(random, "shop/cart.M0", 1, shopP)
		b.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	return td
}

var floods = map[string]attack{
	"one method":              floodOf("other", "", func(int) string { return "other.F" }),
	"60,000 invented methods": floodOf("other", "", func(i int) string { return fmt.Sprint("other.F", i%60_000) }),
	"60,000 invented names":   invented,
	"another version":         floodOf("shop", "2", func(i int) string { return fmt.Sprint("shop/cart.M", i%20) }),
	"the name of the victim":  floodOf("shop", "", func(i int) string { return fmt.Sprint("shop/cart.M", i%20) }),
}

// under sends the traffic of the victim for some minutes. In each second the attack comes first. It returns the
// victim with its kept records.
func under(t *testing.T, config *Config, from string, a attack, minutes int) (victim *shop, counters []string) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		r := start(t, config, 1)
		random := rand.New(rand.NewPCG(9, 9))
		victim = &shop{random: rand.New(rand.NewPCG(3, 3)), kept: make([]float64, 20)}
		for second := range 60 * minutes {
			if a != nil {
				r.sendFrom(from, a(random, second))
			}
			victim.second(r, hostOfVictim)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		counters = r.counters()
	})
	return victim, counters
}

// A sender that floods the collector takes no records from another sender within its share. The flooding sender gets
// the remaining records.
func TestShares_FloodTakesNoRecordsOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	const minutes = 2
	alone, _ := under(t, sharing(), "", nil, minutes)
	require.Equal(t, alone.sent, totalOf(alone.kept), "all of it is kept")
	for name, a := range floods {
		t.Run(name, func(t *testing.T) {
			victim, counters := under(t, sharing(), hostOfAttacker, a, minutes)
			if name == "the name of the victim" { // the two senders cannot be told apart
				assert.Less(t, totalOf(victim.kept), totalOf(alone.kept)/2)
			} else {
				assert.Equal(t, alone.kept, victim.kept)
			}
			assert.Less(t, math.Abs(victim.calls-alone.calls)/math.Sqrt(victim.variance+1), 4.5, "kept stands for %v of %v calls", victim.calls, alone.calls)
			assert.Contains(t, fmt.Sprint(counters), "outcome=limited")
		})
	}
}

// Senders that need less than an equal share get all they need. The others share the rest equally.
func TestShares_SendersShareRemainder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		r := start(t, sharing(), 1)
		random := rand.New(rand.NewPCG(3, 3))
		wanted := []float64{1, 2, 30, 300} // per second
		const minutes = 3
		var kept [4][minutes]float64
		for second := range 60 * minutes {
			for i, n := range wanted {
				b := newBatch("")
				b.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceService, fmt.Sprint("service", i))
				for j := range 10 {
					calls := int(n*float64(second+1)/10) - int(n*float64(second)/10)
					b.fill(random, fmt.Sprint("shop/cart.M", j), calls, shopP)
					counts(b, fmt.Sprint("shop/cart.M", j), int64(calls)*100)
				}
				for _, span := range spansOf(r.sendFrom(fmt.Sprint("192.0.2.", i), b.Traces)) {
					if text(span, methodspan.AttrKind) == methodspan.KindCall {
						kept[i][second/60]++
					}
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		for minute := range minutes {
			assert.Equal(t, 60.0, kept[0][minute])
			assert.LessOrEqual(t, totalOf([]float64{kept[0][minute], kept[1][minute], kept[2][minute], kept[3][minute]}), 1.1*600)
			for _, big := range []int{2, 3} {
				assert.InDelta(t, 3.5*60, kept[big][minute], 0.2*3.5*60, "sender %d in minute %d", big, minute)
			}
		}
		assert.Equal(t, [minutes]float64{120, 120, 120}, kept[1])
	})
}

// Known senders that begin to flood late in an interval still get their shares of it. The total then reaches at most
// twice its limit.
func TestShares_LateFloods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		r := start(t, sharing(), 1)
		random := rand.New(rand.NewPCG(3, 3))
		kept := 0
		for second := range 120 {
			if second == 60 {
				kept = 0
			}
			for host := range 20 {
				n := second % 60 / 50 // one per second in the last ten seconds of a minute
				if host == 0 || second >= 110 {
					n = 50
				}
				b := newBatch("")
				b.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceService, fmt.Sprint("service", host))
				b.fill(random, "shop/cart.M", n, shopP)
				kept += len(spansOf(r.sendFrom(fmt.Sprint("192.0.2.", host), b.Traces)))
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		assert.LessOrEqual(t, kept, 2*600)
	})
}

// A sender that uses a name first and then floods the collector loses the name to the other sender.
func TestShares_FloodingSenderLosesName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		r := start(t, sharing(), 1)
		random := rand.New(rand.NewPCG(9, 9))
		r.sendFrom(hostOfAttacker, oneOf("shop").Traces)
		victim := &shop{random: random, kept: make([]float64, 20)}
		for second := range 120 {
			if second == 60 {
				victim.sent, victim.kept = 0, make([]float64, 20)
			}
			r.sendFrom(hostOfAttacker, floods["one method"](random, second))
			r.sendFrom(hostOfAttacker, oneOf("shop").Traces)
			victim.second(r, hostOfVictim)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		assert.Equal(t, victim.sent, totalOf(victim.kept))
	})
}

func oneOf(service string) batch {
	b := newBatch("")
	b.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceService, service)
	b.call("shop/cart.Claimed", shopP, "")
	return b
}

// A version from a state file belongs to no sender's share until its first batch.
func TestShares_RestoredVersionGetsSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := sharing()
		config.State.File = filepath.Join(t.TempDir(), "sampler.state")
		r := start(t, config, 1)
		r.sendFrom(hostOfVictim, oneOf("shop").Traces)
		turn(t)
		r.stop()
		r = start(t, config, 1)
		senders := func() (all []string) {
			for _, g := range r.processor.(*resends).loop.table.groups {
				all = append(all, g.sender)
			}
			return all
		}
		assert.Equal(t, []string{""}, senders())
		r.sendFrom(hostOfVictim, oneOf("shop").Traces)
		turn(t)
		assert.Equal(t, []string{hostOfVictim}, senders())
		assert.Equal(t, map[string]*holding{hostOfVictim: {1, 1}}, r.processor.(*resends).loop.table.holders)
	})
}

func totalOf(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

// The number of limits is bounded for any number of addresses and names in one interval.
func TestShares_SendersBounded(t *testing.T) {
	l := &intervalLimits{interval: time.Minute, service: 1, total: 10, byService: map[decide.Group]*intervalLimit{}, bySender: map[string]*intervalLimit{}}
	for i := range 3 * maxGroups {
		both := l.forGroup(decide.Group{Service: fmt.Sprint(i)}, fmt.Sprint(i))
		require.NotNil(t, both[0])
		require.NotNil(t, both[1])
	}
	require.Len(t, l.byService, maxGroups+1)
	require.Len(t, l.bySender, maxGroups+1)
}
