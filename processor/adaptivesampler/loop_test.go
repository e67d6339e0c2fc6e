package adaptivesampler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// of returns a request of one version of the shop.
func of(version string) batch {
	b := newBatch("http")
	b.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceVersion, version)
	return b
}

var shop1 = rates.Target{Service: "shop", Version: "1", Instance: "i"}

func rateNamed(t *testing.T, table *rates.Table, name string) rates.Rate {
	t.Helper()
	for _, r := range table.Methods {
		if r.Name == name || r.Match == name {
			return r
		}
	}
	t.Fatalf("%s is not in the table", name)
	return rates.Rate{}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The warning about a budget that is too small is logged once an hour while the condition lasts.
func TestLoop_WarnsOfSmallBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{unknown: 0.5}
		r := startWith(t, adaptive(), 1, s, host{deskID: &desk{}})
		said := func() int { return r.logs.FilterMessageSnippet("the budget is too small").Len() }
		turn(t)
		assert.Zero(t, said())
		s.lack(1)
		for range 61 {
			turn(t)
		}
		assert.Equal(t, 2, said())
		s.lack(0)
		for range 120 {
			turn(t)
		}
		assert.Equal(t, 2, said())
	})
}

// A decision takes effect here and is served, a lower rate at once. A change within the noise wakes no SDK.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &scripted{unknown: 0.5, class: "inner"}, &desk{}
		r := startWith(t, adaptive(), 1, s, host{deskID: d})
		assert.Equal(t, "processors::adaptive_sampler", d.owner)
		send := func(p float64) float64 { // returns the rate in force for a span that arrives with p
			b := of("1")
			b.call("shop/cart.(*Cart).Total", p, "ot=th:"+methodspan.ThresholdOf(p).TValue()+";rv:ffffffffffffff")
			return number(t, spansOf(r.send(b.Traces))[0], methodspan.AttrP)
		}
		assert.Equal(t, 0.5, send(1), "before anything was decided")
		table, _ := d.source.Rates(shop1)
		assert.Equal(t, 0.5, *table.Default.P)
		assert.Empty(t, table.Methods)

		s.say("Total", 0.1)
		turn(t)
		assert.Equal(t, 0.1, send(1))
		table, changed := d.source.Rates(shop1)
		rate := rateNamed(t, table, "shop/cart.(*Cart).Total")
		assert.Equal(t, 0.1, *rate.P)
		assert.Equal(t, "sample", rate.Mode)
		assert.Equal(t, 300.0, table.TTLSeconds)

		for _, noise := range []float64{0.109, 0.092, 0.1} {
			s.say("Total", noise)
			turn(t)
			again, same := d.source.Rates(shop1)
			assert.Same(t, table, again)
			assert.Equal(t, changed, same)
		}
		assert.False(t, isClosed(changed))
		assert.Equal(t, 0.1001, send(0.1001), "an SDK at the rate is not thinned")

		s.say("Total", 0.02)
		turn(t)
		assert.True(t, isClosed(changed))
		assert.Equal(t, 0.02, send(0.1), "the SDK does not know yet")
		table, changed = d.source.Rates(shop1)
		assert.Equal(t, 0.02, *rateNamed(t, table, "shop/cart.(*Cart).Total").P)

		s.say("Total", 0) // off
		turn(t)
		assert.True(t, isClosed(changed))
		table, _ = d.source.Rates(shop1)
		rate = rateNamed(t, table, "shop/cart.(*Cart).Total")
		assert.Equal(t, "off", rate.Mode)
		assert.Nil(t, rate.P)
		b := of("1")
		b.call("shop/cart.(*Cart).Total", 0.02, "")
		counts(b, "shop/cart.(*Cart).Total", 1)
		assert.Len(t, spansOf(r.send(b.Traces)), 1, "its counts stay")

		counters := r.counters()
		assert.Contains(t, counters, "steps: 6")
		assert.Contains(t, counters, "served_changes: 7") // tables of the version, of the service without a version, and the default
		r.stop()
		assert.Nil(t, d.source, "withdrawn")
	})
}

// The method file overrides the strategy, also when it changes at run time.
func TestLoop_MethodFileBoundsStrategy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := adaptive()
		config.MethodsFile = methodsFile(t, `{"version": 1, "tiers": {"t": {}}, "methods": [
			{"class": "c", "method": "fixed", "rate": 0.3}, {"class": "c", "method": "bounded", "min": 0.2, "max": 0.4, "tier": "t", "cpu_rate": 0.5},
			{"class": "c", "method": "off", "mode": "off"}, {"class": "c", "method": "free", "blocking": true}]}`)
		s, d := &scripted{unknown: 1}, &desk{}
		r := startWith(t, config, 1, s, host{deskID: d})
		methods := []string{"fixed", "bounded", "off", "free"}
		for _, m := range methods {
			s.say(m, 0.1)
		}
		inForce := func() map[string]float64 {
			found := make(map[string]float64)
			for _, m := range methods {
				b := of("1")
				b.call("c."+m, 1, "ot=th:0;rv:ffffffffffffff")
				for _, span := range spansOf(r.send(b.Traces)) {
					found[m] = number(t, span, methodspan.AttrP)
				}
			}
			return found
		}
		assert.Equal(t, map[string]float64{"fixed": 0.3, "bounded": 0.4, "free": 1}, inForce())
		turn(t)
		assert.Equal(t, map[string]float64{"fixed": 0.3, "bounded": 0.2, "free": 0.1}, inForce())
		table, changed := d.source.Rates(shop1)
		assert.Equal(t, 0.3, *rateNamed(t, table, "c.fixed").P)
		assert.Equal(t, "off", rateNamed(t, table, "c.off").Mode)
		assert.True(t, rateNamed(t, table, "c.free").Blocking)
		assert.Equal(t, 0.5, *rateNamed(t, table, "c.bounded").CPUP)
		assert.Len(t, table.Methods, 4, "each once")
		assert.NotNil(t, s.steps[0][0].Rule)

		writeFile(t, config.MethodsFile, `{"version": 1, "methods": [{"class": "c", "method": "free", "mode": "off"}, {"class": "c", "method": "bounded", "min": 0.6}]}`)
		time.Sleep(2*configfile.Interval + time.Second)
		synctest.Wait()
		assert.True(t, isClosed(changed), "a change of the file does not wait for the next step")
		got := inForce()
		assert.NotContains(t, got, "free")
		assert.Equal(t, 0.6, got["bounded"])
		require.NotNil(t, s.rules)
		assert.Equal(t, 0.6, s.rules(decide.Key{Class: "c", Method: "bounded"}).Min)
	})
}

// Each target receives its own table.
func TestServe_TablePerTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &scripted{unknown: 0.5}, &desk{}
		s.say("f", 0.1)
		s.say("GET /", 0.1)
		r := startWith(t, adaptive(), 1, s, host{deskID: d})
		for _, version := range []string{"1", "2"} {
			b := of(version)
			b.call("f", 1, "")
			b.foreign("GET /", 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
			b.foreign("only in "+version, 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
			r.send(b.Traces)
			turn(t)
			s.say("f", 0.2) // for both versions from the next step on
		}
		get := func(target rates.Target) *rates.Table {
			table, _ := d.source.Rates(target)
			return table
		}
		one, two := get(shop1), get(rates.Target{Service: "shop", Version: "2"})
		assert.Len(t, one.Operations, 2)
		assert.NotEqual(t, one.Revision, two.Revision)
		assert.Equal(t, two.Methods, get(rates.Target{Service: "shop", Version: "3"}).Methods, "a version never met has what the newest has")
		alone := get(rates.Target{Service: "shop"})
		assert.Len(t, alone.Operations, 3, "of all versions")
		assert.Equal(t, two.Methods, alone.Methods)
		unknown := get(rates.Target{Service: "bank"})
		assert.Equal(t, 0.5, *unknown.Default.P)
		assert.Empty(t, unknown.Methods)
		for _, op := range alone.Operations {
			assert.True(t, op.P == 0.1 && op.Name == "GET /" || op.P == 0.5, "%v", op)
		}
	})
}

// Without a strategy the method file is served to SDKs that have no file.
func TestServe_MethodFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := &Config{Rates: &deskID, DefaultRate: 0.75, MethodsFile: methodsFile(t, `{"version": 1, "tiers": {"inner": {"rate": 0.25}}, "methods": [
			{"match": "shop/cart.*", "tier": "inner", "cpu_rate": 0.5}, {"class": "shop/web.Handler", "method": "*", "rate": 1},
			{"class": "shop/web.Handler", "method": "Ping", "mode": "off"}, {"class": "C", "method": "m", "signature": "(int)", "rate": 0.1},
			{"class": "http", "method": "GET /cart", "rate": 0.5}]}`)}
		d := &desk{}
		r := startWith(t, config, 1, nil, host{deskID: d})
		table, changed := d.source.Rates(shop1)
		assert.Equal(t, 0.75, *table.Default.P)
		assert.Equal(t, "inner", rateNamed(t, table, "shop/cart.*").Tier)
		assert.Equal(t, 0.25, *rateNamed(t, table, "shop/cart.*").P)
		assert.Equal(t, 0.5, *rateNamed(t, table, "shop/cart.*").CPUP)
		assert.Equal(t, 1.0, *rateNamed(t, table, "shop/web.Handler.*").P)
		assert.Equal(t, "off", rateNamed(t, table, "shop/web.Handler.Ping").Mode)
		assert.Len(t, table.Methods, 4, "no SDK that asks knows signatures")

		b := of("1")
		b.foreign("GET /cart", 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
		b.call("shop/cart.(*Cart).Total", 1, "")
		r.send(b.Traces)
		turn(t)
		assert.True(t, isClosed(changed), "the service is known now, and is served another table")
		table, _ = d.source.Rates(shop1)
		assert.Equal(t, []rates.Operation{{Name: "GET /cart", P: 0.5}}, table.Operations)
		assert.Len(t, table.Methods, 4)
	})
}

// Without a configured rate no rate is served: SDKs have their own configuration.
func TestServe_NothingConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		startWith(t, &Config{Rates: &deskID}, 1, nil, host{deskID: d})
		table, _ := d.source.Rates(shop1)
		assert.Equal(t, rates.Rate{Reason: "default_rate"}, table.Default)
		assert.NotNil(t, table.Methods, "a JSON array")
		assert.NotEmpty(t, table.Revision)
	})
}

func TestServe_MissingExtension(t *testing.T) {
	for _, c := range []struct {
		name string
		host host
		says string
	}{
		{"none", host{}, "`rates` must name an extension of `service::extensions`, found \"sampling_rates\": there is none"},
		{"others", host{component.MustNewID("zpages"): &desk{}, component.MustNewIDWithName("sampling_rates", "b"): &desk{}},
			"`rates` must name an extension of `service::extensions`, found \"sampling_rates\": there are \"sampling_rates/b\", \"zpages\""},
		{"no server", host{deskID: struct {
			component.StartFunc
			component.ShutdownFunc
		}{}}, "`rates` must name an extension that serves rates, found \"sampling_rates\" of type sampling_rates: use a `sampling_rates` extension"},
		{"taken", host{deskID: &desk{owner: "processors::b", source: &controlLoop{}}}, "`rates` \"sampling_rates\": taken by processors::b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := build(t, adaptive(), 1, &scripted{})
			assert.EqualError(t, r.processor.Start(context.Background(), c.host), c.says)
			r.stop()
		})
	}
}

// Steps between and during batches lose and mix up nothing.
func TestLoop_StepsDuringBatches(t *testing.T) {
	config := adaptive()
	config.Rates, config.Interval = nil, time.Second
	s := &scripted{unknown: 1}
	r := build(t, config, 1, s)
	require.NoError(t, r.processor.Start(context.Background(), componenttest.NewNopHost()))
	l := r.processor.(*resends).loop
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			s.say("f", float64(1+i%2)/2)
			l.step(time.Now().Add(time.Duration(i) * time.Second))
		}
	}()
	calls := int64(0)
	for batches := 0; ; batches++ {
		b := newBatch("")
		counts(b, "f", 1)
		for i := range 20 {
			b.call("f", 1, "")
			b.call("g"+string(rune('a'+i)), 1, "")
		}
		require.NoError(t, r.processor.ConsumeTraces(context.Background(), b.Traces))
		calls++
		if isClosed(done) && batches > 100 {
			break
		}
	}
	l.step(time.Now().Add(time.Hour))
	r.stop() // takes a last step
	var seen float64
	for _, step := range s.steps {
		for _, m := range step {
			if m.Key.Method == "f" {
				seen += m.Calls
			}
		}
	}
	assert.Equal(t, float64(calls), seen)
}
