package corehour

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/sdk/internal/histogram"
)

// The encoded request follows the collector's contract, read by a decoder that shares no code with the
// encoder.
func TestExport_Attributes(t *testing.T) {
	c := &collector{}
	outer := NewMethod("shop/cart.(*Cart).Total", Rate(1))
	inner := NewMethod("shop/price.Lookup", Rate(0.25))
	begun := time.Now()
	_, stop := start(t, WithHTTPClient(c.client()), WithService("shop", "1.4.2"),
		WithAttributes(map[string]string{"service.namespace": "demo", "deployment.environment.name": "test"}))
	fails := errors.New("no such article")
	innerCalls := 0
	lookup := func() {
		innerCalls++
		defer inner.Begin().EndError(&fails)
	}
	total := func() {
		defer outer.Begin().End()
		for range 100 {
			lookup()
		}
	}
	for range 5 {
		total()
	}
	stop()
	ended := time.Now()

	for _, r := range c.all(t) {
		for key, want := range map[string]any{
			"service.name": "shop", "service.version": "1.4.2", "service.namespace": "demo",
			"deployment.environment.name": "test", "telemetry.sdk.name": "corehour", "telemetry.sdk.language": "go",
		} {
			if r.resource[key] != want {
				t.Errorf("resource %s = %v, want %v", key, r.resource[key], want)
			}
		}
		for _, key := range []string{"service.instance.id", "host.name"} {
			if s, _ := r.resource[key].(string); s == "" {
				t.Errorf("resource %s is missing", key)
			}
		}
		if pid, _ := r.resource["process.pid"].(int64); pid < 1 {
			t.Errorf("process.pid = %v", r.resource["process.pid"])
		}
		if made, _ := r.resource["process.creation.time"].(string); made != processStart.UTC().Format(time.RFC3339Nano) {
			t.Errorf("process.creation.time = %q", made)
		}
		if r.scopeName != "github.com/corehour/corehour/sdk" || r.scopeValue != Version {
			t.Errorf("scope %q %q", r.scopeName, r.scopeValue)
		}
	}

	byName, traces := map[string]int{}, map[string]bool{}
	for _, s := range c.spans(t, "call") {
		byName[s.name]++
		if traces[string(s.traceID)] {
			t.Fatalf("trace %x has two spans", s.traceID)
		}
		traces[string(s.traceID)] = true
		if s.kind != 1 || len(s.traceID) != 16 || len(s.spanID) != 8 || len(s.parentID) != 0 {
			t.Fatalf("kind %d, ids %x %x %x", s.kind, s.traceID, s.spanID, s.parentID)
		}
		if s.text("code.function.name") != s.name || s.text("corehour.ids") != "synthetic" {
			t.Fatalf("attributes %v", s.attrs)
		}
		if s.start < begun.UnixNano() || s.end > ended.UnixNano() || s.end < s.start {
			t.Errorf("%s lasts from %d to %d, outside %d to %d", s.name, s.start, s.end, begun.UnixNano(), ended.UnixNano())
		}
		wantP, wantStatus, wantCaller := 1.0, uint64(0), "(entry)"
		if s.name == "shop/price.Lookup" {
			wantP, wantStatus, wantCaller = 0.25, 2, "shop/cart.Cart.Total"
		}
		if s.double("corehour.p") != wantP || s.status != wantStatus || s.text("corehour.caller") != wantCaller {
			t.Errorf("%s: p %v, status %d, caller %q; want %v, %d, %q", s.name, s.attrs["corehour.p"], s.status, s.text("corehour.caller"), wantP, wantStatus, wantCaller)
		}
		if share := s.double("corehour.cpu.p"); !(share > 0 && share <= 1) {
			t.Errorf("cpu.p = %v", s.attrs["corehour.cpu.p"])
		}
		_, timed := s.attrs["corehour.cpu.time"]
		if timed != (s.text("corehour.cpu.state") == "exact") {
			t.Errorf("cpu.time %v in state %q", s.attrs["corehour.cpu.time"], s.text("corehour.cpu.state"))
		}
		if timed && s.int("corehour.cpu.time") > s.end-s.start {
			t.Errorf("CPU %d in %d ns", s.int("corehour.cpu.time"), s.end-s.start)
		}
		checkTraceState(t, s.traceState, wantP)
	}
	if byName["shop/cart.(*Cart).Total"] != 5 {
		t.Errorf("%d measurements of 5 calls at rate 1", byName["shop/cart.(*Cart).Total"])
	}
	if n := byName["shop/price.Lookup"]; n < 70 || n > 190 {
		t.Errorf("%d measurements of 500 calls at rate 0.25", n)
	}

	calls := counted(c, t)
	if calls["shop/cart.(*Cart).Total"] != 5 || calls["shop/price.Lookup"] != int64(innerCalls) {
		t.Errorf("counts %v", calls)
	}
	for _, s := range append(c.spans(t, "counts"), c.spans(t, "process")...) {
		if s.start/minuteNS != (s.end-1)/minuteNS {
			t.Errorf("%s crosses a minute: %d to %d", s.name, s.start, s.end)
		}
		if s.traceState != "ot=th:0" {
			t.Errorf("%s: trace state %q", s.name, s.traceState)
		}
	}
	processes := c.spans(t, "process")
	last := processes[len(processes)-1]
	if last.name != "corehour.process" || last.attrs["corehour.process.final"] != true {
		t.Errorf("the last process span: %q %v", last.name, last.attrs)
	}
	if last.int("corehour.process.cores") < 1 || last.int("corehour.sdk.recorded") < 5 || last.int("corehour.sdk.probe.wall.cost_ns") < 1 {
		t.Errorf("process attributes %v", last.attrs)
	}
	if m := machine(); last.int("corehour.host.cores") != int64(m.Cores) || (last.attrs["corehour.process.cpu_limit"] != nil) != (m.CPULimit > 0) {
		t.Errorf("%+v, process attributes %v", m, last.attrs)
	}
}

var stateForm = regexp.MustCompile(`^ot=th:([0-9a-f]{1,14});rv:([0-9a-f]{14})$`)

// checkTraceState checks th against p, and that th does not reject rv.
func checkTraceState(t *testing.T, state string, p float64) {
	t.Helper()
	m := stateForm.FindStringSubmatch(state)
	if m == nil {
		t.Fatalf("trace state %q", state)
	}
	if len(m[1]) > 1 && strings.HasSuffix(m[1], "0") {
		t.Errorf("th %q ends in zeros", m[1])
	}
	th, err := strconv.ParseUint(m[1]+strings.Repeat("0", 14-len(m[1])), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := 1 - float64(th)/(1<<56); math.Abs(got-p) > 1e-12 {
		t.Errorf("th %q means p = %v, want %v", m[1], got, p)
	}
	rv, err := strconv.ParseUint(m[2], 16, 64)
	if err != nil || rv < th {
		t.Errorf("rv %q is below th %q: %v", m[2], m[1], err)
	}
}

func TestExport_TraceIDs(t *testing.T) {
	c := &collector{}
	m := NewMethod("traced.Method", Rate(1))
	type key struct{}
	find := func(ctx context.Context) (TraceContext, bool) {
		tc, ok := ctx.Value(key{}).(TraceContext)
		if ok && tc.Group == "panic" {
			panic("a bad hook")
		}
		return tc, ok
	}
	_, stop := start(t, WithHTTPClient(c.client()), WithTraceContext(find))
	want := TraceContext{TraceID: [16]byte{1, 2, 3}, SpanID: [8]byte{9, 8}, RequestID: "r-1", Group: "web"}
	m.BeginContext(context.WithValue(context.Background(), key{}, want)).End()
	m.BeginContext(context.Background()).End()
	m.BeginContext(context.WithValue(context.Background(), key{}, TraceContext{Group: "panic"})).End()
	var none context.Context // from a careless program
	m.BeginContext(none).End()
	stop()
	spans := c.spans(t, "call")
	if len(spans) != 4 {
		t.Fatalf("%d spans", len(spans))
	}
	s := spans[0]
	if [16]byte(s.traceID) != want.TraceID || [8]byte(s.parentID) != want.SpanID || s.text("corehour.request.id") != "r-1" || s.text("corehour.group") != "web" {
		t.Errorf("ids %x %x, attributes %v", s.traceID, s.parentID, s.attrs)
	}
	if _, ok := s.attrs["corehour.ids"]; ok {
		t.Error("real ids are called synthetic")
	}
	for _, s := range spans[1:] {
		if s.text("corehour.ids") != "synthetic" || s.parentID != nil {
			t.Errorf("a call without a trace has one: %v", s.attrs)
		}
	}
}

// A cell is exported with its sums, squares, maxima and histograms.
func TestExport_Aggregate(t *testing.T) {
	c := &collector{}
	m := NewMethod("aggregated.Method", WithMode(Aggregate), Rate(0))
	_, stop := start(t, WithHTTPClient(c.client()))
	fails := errors.New("x")
	for i := range 1000 {
		if i%10 == 0 {
			m.Begin().EndError(&fails)
		} else {
			m.Begin().End()
		}
	}
	stop()
	var measured, errorsSeen int64
	for _, s := range c.spans(t, "aggregate") {
		if s.name != "aggregated.Method" || s.double("corehour.p") != 1 || s.traceState != "ot=th:0" {
			t.Errorf("span %q %v", s.name, s.attrs)
		}
		measured += s.int("corehour.measured")
		errorsSeen += s.int("corehour.errors")
		checkCell(t, s)
	}
	if measured != 1000 || errorsSeen != 100 {
		t.Errorf("%d measured and %d errors, want 1000 and 100", measured, errorsSeen)
	}
}

// checkCell checks that a cell's sums agree with each other.
func checkCell(t *testing.T, s wireSpan) {
	t.Helper()
	if s.start/minuteNS != s.end/minuteNS || s.end < s.start {
		t.Errorf("the cell lasts from %d to %d", s.start, s.end)
	}
	for _, side := range []struct {
		prefix string
		n      int64
	}{{"corehour.wall", s.int("corehour.measured")}, {"corehour.cpu", s.int("corehour.cpu.measured")}} {
		bins, there := s.attrs[side.prefix+".bins"].([]any)
		if there != (side.n > 0) {
			t.Errorf("%s.bins with %d measured", side.prefix, side.n)
		}
		if !there {
			continue
		}
		counts := s.attrs[side.prefix+".counts"].([]any)
		total, low, high := 0.0, 0.0, 0.0
		for i := range bins {
			n := counts[i].(float64)
			total += n
			low += n * math.Pow(histogram.Gamma, float64(bins[i].(int64)))
			high += n * math.Pow(histogram.Gamma, float64(bins[i].(int64)+1))
		}
		sum, largest, squares := float64(s.int(side.prefix+".sum")), float64(s.int(side.prefix+".max")), s.double(side.prefix+".sum_squares")
		n := float64(side.n)
		if total != n || sum < low*0.999-n || sum > high*1.001+n {
			t.Errorf("%s: %v in the histogram of %v, sum %v outside %v to %v", side.prefix, total, n, sum, low, high)
		}
		if largest > sum || largest*n < sum || squares < sum*sum/n*(1-1e-9) || squares > sum*largest*(1+1e-9) {
			t.Errorf("%s: n %v, sum %v, max %v, squares %v contradict each other", side.prefix, n, sum, largest, squares)
		}
	}
}
