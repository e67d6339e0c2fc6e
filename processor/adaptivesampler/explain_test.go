package adaptivesampler

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

func TestExplanations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halfPast()
		config := adaptive()
		config.MaxMethods = 5
		config.MethodsFile = methodsFile(t, `{"version": 1, "tiers": {"t": {}}, "methods": [{"match": "c.*", "tier": "t"}, {"class": "c", "method": "off", "mode": "off"},
			{"class": "c", "method": "fixed", "rate": 0.3}]}`)
		s, d := &scripted{unknown: 0.25, class: "mid"}, &desk{}
		for _, m := range []string{"known", "rare", "GET /"} {
			s.say(m, 0.5)
		}
		r := startWith(t, config, 1, s, host{deskID: d})
		explain := func(method string) rates.Explanation {
			all := d.source.Explain(rates.Target{Service: "shop"}, method)
			require.Len(t, all, 1, method)
			return all[0]
		}
		e := explain("c.known")
		assert.Equal(t, rates.Unseen, e.State)
		assert.Equal(t, "no span of it has arrived; until one does: cold start", e.Reason)
		assert.Equal(t, 0.25, e.RateAsked)
		assert.Equal(t, "methods[0] c.*", e.Rule)

		for range 2 {
			b := of("1")
			for i := range 400 {
				span := lasting(b.call("c.known", 0.25, plainOf(0.25)), 100)
				span.Attributes().PutInt(methodspan.AttrCPUTime, int64(10+20*(i%2)))
				span.Attributes().PutDouble(methodspan.AttrCPUP, 1)
				span.Attributes().PutStr(methodspan.AttrCaller, []string{methodspan.CallerEntry, "x", "x", "x"}[i%4])
			}
			counts(b, "c.known", 1600)
			b.call("c.rare", 0.25, plainOf(0.25))
			counts(b, "c.rare", 4)
			b.call("c.off", 1, "")
			b.call("c.fixed", 1, "")
			b.foreign("GET /", 1, methodspan.BasisAssumed, "", pcommon.TraceID{})
			b.call("c.beyond", 1, "")
			r.send(b.Traces)
			turn(t)
		}

		e = explain("c.known")
		assert.Equal(t, rates.Known, e.State)
		assert.Equal(t, [5]string{"budget", "mid", "sample", "methods[0] c.*", "script"}, [5]string{e.Strategy, e.Class, e.Mode, e.Rule, e.Reason})
		assert.Equal(t, "1", e.Version)
		assert.InEpsilon(t, 1600.0/60, e.CallsPerSecond, 1e-9)
		assert.InEpsilon(t, 400.0/60, e.RecordsPerSecond, 1e-9)
		assert.Equal(t, 0.5, e.RateAsked)
		assert.Equal(t, 0.25, *e.RateInForce, "the SDK has not got it yet")
		assert.InEpsilon(t, 0.25, *e.EntryShare, 1e-9)
		assert.InEpsilon(t, 20, *e.MeanCPUNs, 1e-9)
		assert.Nil(t, e.MeanWallNs)
		assert.Equal(t, "cpu", e.SpreadOf)
		assert.InEpsilon(t, 0.5, *e.Spread, 1e-9)
		calls := 1600.0 / 60 * 86400
		assert.InEpsilon(t, 0.5*math.Sqrt(0.75/(calls*0.25)), *e.ErrorOfDay, 1e-9)
		assert.InEpsilon(t, 0.5*math.Sqrt(0.5/(calls*0.5)), *e.ErrorOfDayDouble, 1e-9)

		e = explain("c.rare")
		assert.Equal(t, rates.Rare, e.State)
		assert.Nil(t, e.ErrorOfDay)
		assert.Contains(t, e.Reason, "fewer than 30 records")
		e = explain("c.off")
		assert.Equal(t, rates.Off, e.State)
		assert.Equal(t, "it is not measured: the method file says so, by methods[1] c.off", e.Reason)
		assert.Zero(t, e.RateAsked)
		e = explain("c.fixed")
		assert.Equal(t, 0.3, e.RateAsked)
		assert.Contains(t, e.Reason, "the method file says so, by methods[2] c.fixed")
		e = explain("GET /")
		assert.Equal(t, "http.GET /", e.Method, "found by the name of its spans")
		e = explain("c.beyond")
		assert.Equal(t, rates.Overflow, e.State)
		assert.Contains(t, e.Reason, "the table of 5 methods was full")
		assert.Equal(t, rates.Overflow, explain("(overflow)").State)

		all := d.source.Explain(rates.Target{Service: "bank", Version: "7"}, "f")
		require.Len(t, all, 1)
		assert.Equal(t, rates.Unseen, all[0].State)
		assert.Equal(t, "7", all[0].Version)
		b := of("2")
		b.call("c.known", 1, "")
		r.send(b.Traces)
		turn(t)
		all = d.source.Explain(rates.Target{Service: "shop"}, "c.known")
		require.Len(t, all, 2)
		assert.Equal(t, "2", all[0].Version, "the newest first")
		assert.Len(t, d.source.Explain(shop1, "c.known"), 1)
	})
}

func TestExplanations_MethodFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r := startWith(t, &Config{Rates: &deskID}, 1, nil, host{deskID: d})
		b := of("1")
		lasting(b.call("f", 0.5, ""), 7)
		r.send(b.Traces)
		turn(t)
		e := d.source.Explain(shop1, "f")[0]
		assert.Equal(t, "file", e.Strategy)
		assert.Equal(t, rates.Rare, e.State)
		assert.InEpsilon(t, 7, *e.MeanWallNs, 1e-9)
		assert.Contains(t, e.Reason, "nothing but `default_rate` speaks of it")
		assert.Empty(t, e.Rule)
	})
}

func plainOf(p float64) string {
	return "ot=th:" + methodspan.ThresholdOf(p).TValue() + ";rv:ffffffffffffff"
}

// The sampler's own metrics are broken down by tier and reason. The defaults of the file are named as the rule only
// if they are set.
func TestExplanations_TiersReasonsAndRules(t *testing.T) {
	for file, rule := range map[string]string{
		`{"version": 1, "tiers": {"t": {}}, "methods": [{"match": "tiered*", "tier": "t"}, {"match": "pinned*", "tier": "t", "rate": 0.5}]}`:                           "",
		`{"version": 1, "tiers": {"t": {}}, "defaults": {"max": 0.9}, "methods": [{"match": "tiered*", "tier": "t"}, {"match": "pinned*", "tier": "t", "rate": 0.5}]}`: "defaults",
	} {
		synctest.Test(t, func(t *testing.T) {
			config := adaptive()
			config.MethodsFile = methodsFile(t, file)
			s, d := &scripted{unknown: 0.25}, &desk{}
			s.say("free", 0.1)
			r := startWith(t, config, 1, s, host{deskID: d})
			b := of("1")
			for _, name := range []string{"free", "tiered", "tiered2", "pinned"} {
				b.call(name, 1, "")
			}
			r.send(b.Traces)
			turn(t)
			figures := r.figures()
			assert.Equal(t, 1.0, figures["reasons tier=(none) reason=script"])
			assert.Equal(t, 2.0, figures["reasons tier=t reason=cold start"]+figures["reasons tier=(none) reason=cold start"])
			assert.Equal(t, 1.0, figures["reasons tier=t reason=method file"])
			assert.Equal(t, rule, d.source.Explain(shop1, "free")[0].Rule)
			assert.Equal(t, rule, d.source.Explain(shop1, "absent")[0].Rule)
			assert.Contains(t, d.source.Explain(shop1, "pinned")[0].Rule, "pinned*")
		})
	}
}
