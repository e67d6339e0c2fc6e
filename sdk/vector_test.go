package corehour

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/spans"
)

// otlpValue is an AnyValue of OTLP in JSON.
type otlpValue struct {
	String *string  `json:"stringValue"`
	Int    *string  `json:"intValue"`
	Double *float64 `json:"doubleValue"`
	Bool   *bool    `json:"boolValue"`
	Array  *struct {
		Values []otlpValue `json:"values"`
	} `json:"arrayValue"`
}

func (v otlpValue) any(t *testing.T) any {
	switch {
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		n, err := strconv.ParseInt(*v.Int, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case v.Double != nil:
		return *v.Double
	case v.Bool != nil:
		return *v.Bool
	}
	list := []any{}
	for _, e := range v.Array.Values {
		list = append(list, e.any(t))
	}
	return list
}

type otlpAttributes []struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

func (a otlpAttributes) all(t *testing.T) map[string]any {
	all := map[string]any{}
	for _, kv := range a {
		all[kv.Key] = kv.Value.any(t)
	}
	return all
}

type otlpSpan struct {
	Name       string         `json:"name"`
	Kind       uint64         `json:"kind"`
	TraceState string         `json:"traceState"`
	Start      string         `json:"startTimeUnixNano"`
	End        string         `json:"endTimeUnixNano"`
	Attributes otlpAttributes `json:"attributes"`
	Status     struct {
		Code uint64 `json:"code"`
	} `json:"status"`
}

type otlpRequest struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes otlpAttributes `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name       string         `json:"name"`
				Attributes otlpAttributes `json:"attributes"`
			} `json:"scope"`
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

// TestWire_Vector compares the output for some calls, counts and sums with the test vector of
// docs/reference/wire.md, which the receiver's tests store. Ids, random values, the machine and the SDK's
// own counters vary and are compared by type.
func TestWire_Vector(t *testing.T) {
	text, err := os.ReadFile("testdata/wire/go-sdk.json")
	if err != nil {
		t.Fatal(err)
	}
	var want otlpRequest
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	const start, ms = 1_790_000_000_000_000_000, 1_000_000
	total, lookup := NewMethod("shop/cart.(*Cart).Total"), NewMethod("shop/price.Lookup")
	e, _ := startWith(t, func(*config) {})
	half := settings{mode: Sample, rate: 0.25, cpuRate: 0.5}
	rare := settings{mode: Sample, rate: 0.125, cpuRate: 0.5}
	totals, lookups := newPlan(e, total, half), newPlan(e, lookup, rare)

	w := encoder{new(spans.Writer)}
	w.call(&record{plan: totals, caller: callers.Entry, wall: 20 * ms, cpu: 5 * ms, state: cpuExact}, start, false)
	w.call(&record{plan: lookups, caller: &total.owner, wall: ms, state: cpuNotSampled, failed: true}, start+2*ms, false)
	w.call(&record{plan: lookups, wall: 11 * ms, state: cpuNotSampled, tail: true}, start+4*ms, false)
	c := &cell{cellKey: cellKey{method: lookup, p: 0.125, cpuP: 0.5}}
	for _, wall := range []int64{10_000, 20_000, 30_000} {
		c.wall.addDuration(wall)
	}
	for _, cpu := range []int64{1000, 3000} {
		c.cpu.addDuration(cpu)
	}
	c.errors, c.first, c.last = 1, start, start+1000*ms
	w.aggregate(c, true, false)
	iv := &interval{
		start: start, end: start + 60_000*ms, lasted: 60_000 * ms, methods: []*Method{total, lookup}, calls: []int64{40, 900}, total: 940,
		cpu: 90_000 * ms, cpuKnown: true, final: true,
	}
	w.counts(iv)
	w.process(iv, &Snapshot{})
	resource := map[string]string{}
	for key, value := range want.ResourceSpans[0].Resource.Attributes.all(t) {
		resource[key] = value.(string)
	}
	got, err := readRequest(w.Request(nil, encodeResource(resource), spans.Scope{
		Version: Version, Process: "0b6c7a1e-5d0f-4c39-8a11-6f3f2f4f7d52", Batch: 1, CallsTotal: 940,
	}))
	if err != nil {
		t.Fatal(err)
	}

	scope := want.ResourceSpans[0].ScopeSpans[0]
	if got.scopeName != scope.Scope.Name || !reflect.DeepEqual(got.scope, scope.Scope.Attributes.all(t)) {
		t.Errorf("scope %q with %v, want %q with %v", got.scopeName, got.scope, scope.Scope.Name, scope.Scope.Attributes.all(t))
	}
	if len(got.spans) != len(scope.Spans) {
		t.Fatalf("%d spans, want %d", len(got.spans), len(scope.Spans))
	}
	for i, want := range scope.Spans {
		s := got.spans[i]
		if s.name != want.Name || s.kind != want.Kind || s.status != want.Status.Code || len(s.traceID) != 16 || len(s.spanID) != 8 {
			t.Errorf("span %d is %q of kind %d, status %d, want %+v", i, s.name, s.kind, s.status, want)
		}
		if times := [2]string{strconv.FormatInt(s.start, 10), strconv.FormatInt(s.end, 10)}; times != [2]string{want.Start, want.End} {
			t.Errorf("span %d, %s: from %s to %s, want from %s to %s", i, s.name, times[0], times[1], want.Start, want.End)
		}
		th, rv, _ := strings.Cut(s.traceState, ";rv:")
		wantTH, wantRV, _ := strings.Cut(want.TraceState, ";rv:")
		if th != wantTH || len(rv) != len(wantRV) || rv != "" && rv < (strings.TrimPrefix(th, "ot=th:") + "00000000000000")[:14] {
			t.Errorf("span %d, %s: trace state %s, want one like %s", i, s.name, s.traceState, want.TraceState)
		}
		compareAttributes(t, i, s, want.Attributes.all(t))
	}
}

// compareAttributes asserts that a span has the attributes, no others, and their values.
func compareAttributes(t *testing.T, i int, s wireSpan, want map[string]any) {
	t.Helper()
	ofMachine := func(name string) bool {
		return strings.HasPrefix(name, "corehour.process.") && name != "corehour.process.final" || strings.HasPrefix(name, "corehour.sdk.") || name == "corehour.host.cores"
	}
	for name, value := range want {
		found, ok := s.attrs[name]
		switch {
		case !ok || reflect.TypeOf(found) != reflect.TypeOf(value):
			t.Errorf("span %d, %s: %s is %v, want %v", i, s.name, name, found, value)
		case !ofMachine(name) && !same(found, value):
			t.Errorf("span %d, %s: %s is %v, want %v", i, s.name, name, found, value)
		}
	}
	for name := range s.attrs {
		if _, ok := want[name]; !ok && !ofMachine(name) {
			t.Errorf("span %d, %s: has %s, which the vector has not", i, s.name, name)
		}
	}
}

func same(a, b any) bool {
	x, isX := a.(float64)
	y, isY := b.(float64)
	if isX && isY {
		return math.Abs(x-y) <= 1e-12*math.Abs(y)
	}
	return reflect.DeepEqual(a, b)
}
