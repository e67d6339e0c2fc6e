package methodspans

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
)

// servedOperations serves rates by operation to one service, since noon.
type servedOperations struct {
	component.Component
	rates  map[string]float64
	target rates.Target // asked about last
}

func (s *servedOperations) ServedRate(target rates.Target, operation string, start time.Time) (float64, bool) {
	s.target = target
	rate, ok := s.rates[operation]
	return rate, ok && !start.Before(time.Unix(0, noon))
}

type hostWith struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h.extensions }

var ratesID = component.MustNewID("sampling_rates")

func asksServer(c *Config) {
	c.AssumedRate = 0.2
	c.ServedRates = &ratesID
}

// A span has the rate that was served for the root of its trace when the root started.
func TestServedRate_Basis(t *testing.T) {
	server := &servedOperations{rates: map[string]float64{"GET /": 0.1, "load": 0.5, "zero": 0, "wrong": math.NaN()}}
	r := startWith(t, testConfig(asksServer), nil, hostWith{componenttest.NewNopHost(), map[component.ID]component.Component{ratesID: server}})
	begins := func(span ptrace.Span, at int64) { span.SetStartTimestamp(pcommon.Timestamp(at)) }
	td := foreign("web", func(spans ptrace.SpanSlice) {
		trace := byte(1)
		add := func(id, parent byte, name, method string) ptrace.Span {
			span := addForeign(spans, id, parent)
			span.SetTraceID(pcommon.TraceID{trace, 9: 0x80})
			span.SetName(name)
			span.Attributes().PutStr(methodspan.AttrFunction, method)
			return span
		}
		add(3, 2, "load", "grandchild, before its parent")
		add(1, 0, "GET /", "root")
		add(2, 1, "load", "child")
		trace++
		add(4, 0, "load", "root of its own")
		trace++
		add(5, 0, "other", "root without a served rate")
		trace++
		add(6, 99, "GET /", "root elsewhere")
		add(7, 6, "GET /", "child of that")
		trace++
		add(8, 9, "GET /", "circle")
		add(9, 8, "GET /", "circle back")
		trace++
		add(10, 10, "GET /", "its own parent")
		trace++
		add(11, 0, "zero", "not to be kept")
		trace++
		add(12, 0, "wrong", "no probability")
		trace++
		add(13, 0, "GET /", "says itself").TraceState().FromRaw("ot=th:8")
		trace++
		begins(add(14, 0, "GET /", "root before any rate was served"), noon-1)
		begins(add(15, 14, "GET /", "begun later than that"), noon+1)
		trace = 1
		add(0, 1, "load", "without an id")
		for id := byte(100); id < 250; id++ {
			add(id, id-1, "load", "deep")
		}
		spans.At(spans.Len() - 150).SetParentSpanID(pcommon.SpanID{1})
	})
	resource := td.ResourceSpans().At(0).Resource().Attributes()
	resource.PutStr(methodspan.ResourceServiceNamespace, "n")
	resource.PutStr(methodspan.ResourceOldEnvironment, "e")
	resource.PutStr(methodspan.ResourceVersion, "1.2")
	resource.PutStr(methodspan.ResourceInstance, "i")
	type known struct {
		p     float64
		basis string
	}
	got, deep := map[string]known{}, map[known]int{}
	for _, span := range spansOf(r.receive(td)) {
		method, _ := span.Attributes().Get(methodspan.AttrFunction)
		p, _ := span.Attributes().Get(methodspan.AttrP)
		basis, _ := span.Attributes().Get(methodspan.AttrWeightBasis)
		if k := (known{p.Double(), basis.Str()}); method.Str() == "deep" {
			deep[k]++
		} else {
			got[method.Str()] = k
		}
	}
	assumed, served := known{0.2, "assumed"}, known{0.1, "served"}
	assert.Equal(t, map[string]known{
		"root":                            served,
		"child":                           served,
		"grandchild, before its parent":   served,
		"without an id":                   served,
		"root of its own":                 {0.5, "served"},
		"root without a served rate":      assumed,
		"root elsewhere":                  assumed,
		"child of that":                   assumed,
		"circle":                          assumed,
		"circle back":                     assumed,
		"its own parent":                  assumed,
		"not to be kept":                  assumed,
		"no probability":                  assumed,
		"says itself":                     {0.5, "threshold"},
		"root before any rate was served": assumed,
		"begun later than that":           assumed,
	}, got)
	assert.Equal(t, map[known]int{served: maxDepth, {0.1, "inherited"}: 150 - maxDepth}, deep)
	assert.Equal(t, rates.Target{Namespace: "n", Service: "web", Environment: "e", Version: "1.2", Instance: "i"}, server.target)
	assert.Empty(t, r.faults())
}

// A root need not be a method span.
func TestServedRate_RootIsNoMethod(t *testing.T) {
	server := &servedOperations{rates: map[string]float64{"GET /": 0.1}}
	config := testConfig(func(c *Config) { asksServer(c); c.Foreign = ForeignCode })
	r := startWith(t, config, nil, hostWith{componenttest.NewNopHost(), map[component.ID]component.Component{ratesID: server}})
	got := spansOf(r.receive(foreign("web", func(spans ptrace.SpanSlice) {
		addForeign(spans, 2, 1).Attributes().PutStr(methodspan.AttrFunction, "a.b")
		addForeign(spans, 1, 0).SetName("GET /")
	})))
	basis, _ := got[0].Attributes().Get(methodspan.AttrWeightBasis)
	assert.Equal(t, "served", basis.Str())
	assert.False(t, hasKind(got[1]))
}

func hasKind(span ptrace.Span) bool {
	_, ok := span.Attributes().Get(methodspan.AttrKind)
	return ok
}

// The error names an extension that is missing or of another type.
func TestFindServer_Extension(t *testing.T) {
	for want, extensions := range map[string]map[component.ID]component.Component{
		`there is no extension "sampling_rates"`: nil,
		`must name an extension that serves rates, such as ` + "`sampling_rates`" + `, found "sampling_rates"`: {ratesID: struct{ component.Component }{}},
	} {
		factory := NewFactory()
		made, err := factory.CreateTraces(context.Background(), receivertest.NewNopSettings(factory.Type()), testConfig(asksServer), consumertest.NewNop())
		require.NoError(t, err)
		assert.ErrorContains(t, made.Start(t.Context(), hostWith{componenttest.NewNopHost(), extensions}), want)
		require.NoError(t, made.Shutdown(t.Context()))
	}
	_, err := load(t, "protocols: {grpc: }\nforeign: none\nserved_rates: sampling_rates")
	assert.ErrorContains(t, err, "`served_rates` has no effect when `foreign` is `none`, found \"sampling_rates\"")
	config, err := load(t, "protocols: {grpc: }\nserved_rates: sampling_rates/b")
	require.NoError(t, err)
	assert.Equal(t, component.MustNewIDWithName("sampling_rates", "b"), *config.ServedRates)
}
