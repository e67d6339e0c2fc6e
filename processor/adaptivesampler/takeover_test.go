package adaptivesampler

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// A process that comes from another collector keeps the rates served there until it has reported here and the
// strategy has decided. A process without served rates starts cold.
func TestTakeover_KeepsPreviousRates(t *testing.T) {
	for name, c := range map[string]struct {
		served bool
		file   string
		first  float64
		reason string
	}{
		"served":                {true, `{"version": 1}`, 0.5, reasonTakenOver},
		"never served":          {false, `{"version": 1}`, 0.1, "cold start"},
		"below the file's most": {true, `{"version": 1, "methods": [{"match": "f*", "max": 0.5}]}`, 0.5, reasonTakenOver},
		"above the file's most": {true, `{"version": 1, "methods": [{"match": "f*", "max": 0.2}]}`, 0.1, "cold start"},
		"what the file pins":    {true, `{"version": 1, "methods": [{"match": "f*", "rate": 0.3}]}`, 0.3, "methods[0] f*"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := adaptive()
				config.MethodsFile = methodsFile(t, c.file)
				s := &scripted{unknown: 0.1}
				r := startWith(t, config, 1, s, host{deskID: &desk{}})
				sent := func(method string) (p float64, reason string) {
					b := of("1")
					if c.served {
						b.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutBool(methodspan.AttrRatesServed, true)
					}
					b.call(method, 0.5, "ot=th:8;rv:ffffffffffffff")
					out := spansOf(r.send(b.Traces))
					require.Len(t, out, 1)
					assert.Equal(t, number(t, out[0], methodspan.AttrP), number(t, out[0], methodspan.AttrConfiguredRate))
					return number(t, out[0], methodspan.AttrP), text(out[0], methodspan.AttrReason)
				}
				for i := range 3 { // in the first batch, in the next, and after a step without a report
					if i == 2 && c.served {
						turn(t)
					}
					p, reason := sent("f")
					assert.Equal(t, c.first, p)
					assert.Equal(t, c.reason, reason)
				}
				r.send(report("1"))
				turn(t)
				p, _ := sent("f") // the strategy did not name it: it gets the rate of unknown methods
				assert.Less(t, p, 0.5, "the first decision ends it")
				p, reason := sent("new") // a new method of a version that is known by now
				assert.Equal(t, 0.1, p)
				assert.Equal(t, "cold start", reason)
			})
		})
	}
}

// report returns the process report that a process sends once per interval.
func report(version string) ptrace.Traces {
	b := of(version)
	b.spans.AppendEmpty().Attributes().PutStr(methodspan.AttrKind, methodspan.KindProcess)
	return b.Traces
}

// A collector that replaces another serves no rates to a service until it has reported, because rarely kept methods
// have not been seen before that. The wait for a report is bounded.
func TestTakeover_ServesOnlyReported(t *testing.T) {
	moved := func(method string) ptrace.Traces {
		b := of("1")
		b.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutBool(methodspan.AttrRatesServed, true)
		b.call(method, 1, "")
		return b.Traces
	}
	provisional := func(d *desk) bool {
		table, _ := d.source.Rates(shop1)
		return table.Provisional
	}
	begin := func(t *testing.T) (*rig, *desk) {
		d := &desk{}
		return startWith(t, adaptive(), 1, &scripted{unknown: 0.1, rates: map[string]float64{"busy": 0.001, "rare": 1}}, host{deskID: d}), d
	}
	t.Run("reported", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, d := begin(t)
			r.send(moved("rare"))
			turn(t)
			assert.True(t, provisional(d), "nothing is known of the busy method")
			_, changed := d.source.Rates(shop1)
			b := of("1")
			counts := b.call("busy", 1, "").Attributes()
			counts.PutStr(methodspan.AttrKind, methodspan.KindCounts)
			counts.PutInt(methodspan.AttrCalls, 1000)
			r.send(b.Traces)
			r.send(report("1"))
			turn(t)
			<-changed
			table, _ := d.source.Rates(shop1)
			assert.False(t, table.Provisional)
			assert.Equal(t, 0.001, *rateNamed(t, table, "busy").P)
			assert.Equal(t, 1.0, *rateNamed(t, table, "rare").P)
			r.send(moved("rare")) // the version is no longer new
			turn(t)
			assert.False(t, provisional(d))
		})
	})
	t.Run("reported in the batch it is met in", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, d := begin(t)
			td := moved("rare")
			report("1").ResourceSpans().At(0).ScopeSpans().At(0).Spans().MoveAndAppendTo(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans())
			r.send(td)
			turn(t)
			assert.False(t, provisional(d))
		})
	})
	t.Run("never reports", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, d := begin(t)
			r.send(moved("rare"))
			turn(t)
			assert.True(t, provisional(d))
			turn(t)
			turn(t)
			assert.False(t, provisional(d))
		})
	})
}
