package methodspan

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const testStart = int64(1_780_000_000_000_000_000)

// request returns a request as the corehour SDK sends it.
func request(seq int64) (ptrace.Traces, ptrace.SpanSlice) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for name, value := range map[string]string{
		ResourceService: "shop", ResourceServiceNamespace: "eu", ResourceVersion: "1.1", ResourceEnvironment: "prod",
		ResourceInstance: "i-1", ResourceHost: "h", ResourceHostID: "id", ResourceNode: "node", ResourceHostType: "m7", ResourceCloudProvider: "aws", ResourceRegion: "eu-west-1",
		ResourceCapacityType: "spot", ResourceLanguage: "go", ResourceRevision: "abc", ResourceProcessStart: time.Unix(0, testStart).UTC().Format(time.RFC3339Nano),
	} {
		rs.Resource().Attributes().PutStr(name, value)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	if seq > 0 {
		ss.Scope().Attributes().PutInt(AttrBatchSeq, seq)
		ss.Scope().Attributes().PutInt(AttrCallsTotal, 77)
	}
	return td, ss.Spans()
}

func addSpan(t testing.TB, spans ptrace.SpanSlice, wall time.Duration, attrs map[string]any) ptrace.Span {
	t.Helper()
	span := spans.AppendEmpty()
	span.SetName("shop/cart.(*Cart).Total")
	span.SetStartTimestamp(pcommon.Timestamp(testStart))
	span.SetEndTimestamp(pcommon.Timestamp(testStart + int64(wall)))
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{2})
	if err := span.Attributes().FromRaw(attrs); err != nil {
		t.Fatal(err)
	}
	return span
}

func TestConverter_EveryKind(t *testing.T) {
	td, spans := request(5)
	name := "shop/cart.(*Cart).Total"
	addSpan(t, spans, 100, map[string]any{AttrKind: KindCall, AttrFunction: name, AttrP: 0.1, AttrCPUP: 0.5, AttrCPUTime: 60,
		AttrCPUState: CPUExact, AttrCaller: "shop/web.Handler.Serve", AttrTier: "inner", AttrReason: "r", AttrConfiguredRate: 0.2,
		AttrEffectiveRate: 0.1}).Status().SetCode(ptrace.StatusCodeError)
	addSpan(t, spans, 100, map[string]any{AttrKind: KindCall, AttrFunction: name, AttrP: 1.0, AttrCPUState: CPUNotSampled, AttrIDs: IDsSynthetic,
		AttrConfiguredRate: 1.0})
	addSpan(t, spans, 60e9, map[string]any{AttrKind: KindCounts, AttrFunction: name, AttrCalls: 12})
	addSpan(t, spans, 50, map[string]any{AttrKind: KindAggregate, AttrFunction: name, AttrP: 0.5, AttrCPUP: 1.0, AttrMeasured: 3, AttrCPUMeasured: 2,
		AttrErrors: 1, AttrWallSum: 300, AttrWallSquares: 30000.0, AttrWallMax: 150, AttrWallBins: []any{3, 4}, AttrWallCounts: []any{1.0, 2.0},
		AttrCPUSum: 200, AttrCPUSquares: 20000.0, AttrCPUMax: 120, AttrCPUBins: []any{7}, AttrCPUCounts: []any{2.0}})
	addSpan(t, spans, 60e9, map[string]any{AttrKind: KindProcess, AttrCPUTime: 999, AttrProcessCores: 2, AttrHostCores: 16, AttrProcessLimit: 1.5, AttrProcessRSS: 4096,
		AttrProcessFinal: true, AttrSDKPrefix + "dropped": 3, AttrSDKPrefix + "a": 1.5})
	addSpan(t, spans, 10, map[string]any{"http.method": "GET"}) // not ours

	c := NewConverter()
	items, skipped := c.Items(td)
	if len(items) != 1 || len(items[0].Rows) != 5 || skipped != (Skipped{NotMethod: 1}) {
		t.Fatalf("%d items, skipped %+v", len(items), skipped)
	}
	id := items[0].ID
	if want := items[0].Rows[0].Resource.Key().Hash() + "-5"; id != want {
		t.Errorf("id %q, want %q", id, want)
	}
	rows := items[0].Rows
	for i, r := range rows {
		if r.BatchID != id || int(r.RowSeq) != i || r.Level != LevelRaw || r.WeightBasis != BasisExact {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	res := rows[0].Resource
	if want := (Resource{
		ServiceNamespace: "eu", Service: "shop", Version: "1.1", Revision: "abc", Environment: "prod", Instance: "i-1",
		Host: "h", HostID: "node", HostType: "m7", CloudProvider: "aws", Region: "eu-west-1", CapacityType: "spot", Language: "go", ProcessStartNS: testStart,
	}); *res != want {
		t.Errorf("resource %+v, want %+v", *res, want)
	}
	call := rows[0]
	if call.Class != "shop/cart.Cart" || call.Method != "Total" || call.Caller != "shop/web.Handler.Serve" || call.Measured != 1 ||
		call.WallNS != 100 || call.CPUNS != 60 || call.CPUMeasured != 1 || call.P != 0.1 || call.CPUP != 0.5 || call.Errors != 1 ||
		call.Calls != 0 || call.CPUState != CPUExact || call.TraceID != [16]byte{1} || call.SpanID != [8]byte{2} ||
		call.Tier != "inner" || call.ConfiguredRate != 0.2 || call.EffectiveRate != 0.1 {
		t.Errorf("call: %+v", call)
	}
	if r := rows[1]; r.CPUMeasured != 0 || r.CPUState != CPUNotSampled || r.TraceID != [16]byte{} || r.SpanID != [8]byte{} || r.EffectiveRate != 1 {
		t.Errorf("synthetic call: %+v", r)
	}
	if r := rows[2]; r.Calls != 12 || r.Measured != 0 || r.Kind != KindCounts {
		t.Errorf("counts: %+v", r)
	}
	if r := rows[3]; r.Measured != 3 || r.CPUMeasured != 2 || r.WallNS != 300 || r.WallSq != 30000 || r.WallMaxNS != 150 || r.CPUNS != 200 ||
		r.CPUSq != 20000 || r.CPUMaxNS != 120 || r.Errors != 1 || len(r.WallHist) != 2 || r.WallHist[1] != (Bin{4, 2}) || r.CPUHist[0] != (Bin{7, 2}) {
		t.Errorf("aggregate: %+v", r)
	}
	p := rows[4].Process
	if p == nil || p.Cores != 2 || p.HostCores != 16 || p.CPULimit != 1.5 || p.RSSBytes != 4096 || !p.Final || p.CallsTotal != 77 || len(p.Stats) != 2 || p.Stats[0] != (Stat{"a", 1.5}) || rows[4].CPUNS != 999 {
		t.Errorf("process: %+v %+v", rows[4], p)
	}

	again, _ := NewConverter().Items(td)
	if again[0].ID != id {
		t.Errorf("a resend has id %q, first %q", again[0].ID, id)
	}
}

// The number of remembered names is bounded, and forgotten names are parsed the same way.
func TestConverter_RememberedNamesBounded(t *testing.T) {
	c := NewConverter()
	for request := range 3 {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range maxNames/2 + 10 {
			name := fmt.Sprintf("c.m%d_%d", request, i)
			addSpan(t, spans, 1, map[string]any{AttrKind: KindCall, AttrP: 1.0, AttrFunction: name, AttrCaller: name})
		}
		items, _ := c.Items(td)
		for i, r := range items[0].Rows {
			want := fmt.Sprintf("m%d_%d", request, i)
			if r.Class != "c" || r.Method != want || r.Caller != "c."+want {
				t.Fatalf("request %d, row %d: %+v", request, i, r)
			}
		}
		if n, m := len(c.names.functions), len(c.names.callers); n > maxNames || m > maxNames {
			t.Fatalf("%d functions and %d callers are remembered", n, m)
		}
	}
}

// Reused memory holds nothing of earlier rows or invalid spans, and never exceeds its maximum.
func TestConverter_RecycledRowsCleared(t *testing.T) {
	c, fresh := NewConverter(), NewConverter()
	c.ReuseRows(100)
	for round := range 20 {
		td, spans := request(int64(round + 1))
		for i := range 7 * (round%4 + 1) {
			attrs := map[string]any{AttrKind: KindCall, AttrFunction: fmt.Sprintf("c.m%d", i), AttrP: 0.5}
			switch (i + round) % 4 {
			case 0:
				attrs[AttrCaller], attrs[AttrCPUTime], attrs[AttrCPUP], attrs[AttrTier] = "c.caller", 7, 0.5, "inner"
			case 1:
				attrs[AttrStack], attrs[AttrP] = "a;b", 2.0 // no probability: no row
			case 2:
				attrs = map[string]any{AttrKind: KindProcess, AttrProcessCores: 2.0, AttrSDKPrefix + "dropped": 1.0}
			}
			addSpan(t, spans, 100, attrs)
		}
		got, skipped := c.Items(td)
		want, wantSkipped := fresh.Items(td)
		if !reflect.DeepEqual(got, want) || skipped != wantSkipped {
			t.Fatalf("round %d:\n got %+v\nwant %+v", round, got, want)
		}
		if round%3 == 0 {
			got = append(got, Item{Rows: make([]Row, 90)}, Item{Rows: make([]Row, 90)})
		}
		c.Recycle(got)
		if c.rows.rows > 100 {
			t.Fatalf("round %d: the memory of %d rows is kept", round, c.rows.rows)
		}
	}
}

func TestConverter_ForeignSpans(t *testing.T) {
	td, spans := request(0)
	addSpan(t, spans, 100, map[string]any{AttrKind: KindCall, AttrP: 0.25, AttrWeightBasis: BasisThreshold})
	c := NewConverter()
	items, _ := c.Items(td)
	more, _ := c.Items(td)
	r := items[0].Rows[0]
	if r.Calls != 4 || r.WeightBasis != BasisThreshold || r.CPUState != CPUUnavailable || r.Method != "shop/cart.(*Cart).Total" {
		t.Errorf("got %+v", r)
	}
	if items[0].ID == more[0].ID {
		t.Error("requests without a number share an id")
	}
}

func TestConverter_IncompleteIdentity(t *testing.T) {
	for _, missing := range []string{ResourceInstance, ResourceProcessStart} {
		td, spans := request(5)
		addSpan(t, spans, 100, map[string]any{AttrKind: KindCall, AttrP: 1.0})
		td.ResourceSpans().At(0).Resource().Attributes().Remove(missing)
		c := NewConverter()
		one, _ := c.Items(td)
		other, _ := c.Items(td)
		if one[0].ID == other[0].ID {
			t.Errorf("without %s two requests have the id %q", missing, one[0].ID)
		}
	}
}

func TestConverter_Prices(t *testing.T) {
	td, spans := request(1)
	addSpan(t, spans, 1, map[string]any{AttrKind: KindCall, AttrP: 1.0})
	addSpan(t, spans, 1, map[string]any{AttrKind: KindCall, AttrP: 1.0, AttrPrice: 0.5, AttrPriceSource: "span"})
	addSpan(t, spans, 1, map[string]any{AttrKind: KindCall, AttrP: 1.0, AttrPrice: -1.0})
	attrs := td.ResourceSpans().At(0).Resource().Attributes()
	attrs.PutDouble(AttrPrice, 0.04)
	attrs.PutStr(AttrPriceSource, "default")
	items, _ := NewConverter().Items(td)
	rows := items[0].Rows
	if *rows[0].USDPerCoreHour != 0.04 || rows[0].PriceSource != "default" || *rows[1].USDPerCoreHour != 0.5 || rows[1].PriceSource != "span" || rows[2].USDPerCoreHour != nil {
		t.Errorf("prices %+v", rows)
	}
}

func TestConverter_InvalidSpans(t *testing.T) {
	nan := math.NaN()
	for name, attrs := range map[string]map[string]any{
		"no p":               {AttrKind: KindCall},
		"p above 1":          {AttrKind: KindCall, AttrP: 1.5},
		"p NaN":              {AttrKind: KindCall, AttrP: nan},
		"cpu without cpu p":  {AttrKind: KindCall, AttrP: 1.0, AttrCPUTime: 5},
		"negative cpu":       {AttrKind: KindCall, AttrP: 1.0, AttrCPUP: 1.0, AttrCPUTime: -5},
		"cpu as text":        {AttrKind: KindCall, AttrP: 1.0, AttrCPUP: 1.0, AttrCPUTime: "5"},
		"unknown kind":       {AttrKind: "calls", AttrP: 1.0},
		"counts of nothing":  {AttrKind: KindCounts},
		"negative counts":    {AttrKind: KindCounts, AttrCalls: -1},
		"empty aggregate":    {AttrKind: KindAggregate, AttrP: 1.0},
		"more cpu than wall": {AttrKind: KindAggregate, AttrP: 1.0, AttrMeasured: 1, AttrCPUMeasured: 2, AttrCPUP: 1.0},
		"bins without n":     {AttrKind: KindAggregate, AttrP: 1.0, AttrMeasured: 1, AttrWallBins: []any{1}},
		"bin out of range":   {AttrKind: KindAggregate, AttrP: 1.0, AttrMeasured: 1, AttrWallBins: []any{1 << 40}, AttrWallCounts: []any{1.0}},
	} {
		td, spans := request(1)
		addSpan(t, spans, 10, attrs)
		if items, skipped := NewConverter().Items(td); len(items) != 0 || skipped != (Skipped{Invalid: 1}) {
			t.Errorf("%s: %d items, skipped %+v", name, len(items), skipped)
		}
	}
}

func TestReadOT(t *testing.T) {
	for _, tc := range []struct {
		state    string
		th, rv   uint64
		hasTh    bool
		hasRv    bool
		wantFail bool
	}{
		{"", 0, 0, false, false, false},
		{"ot=th:0;rv:00000000000001", 0, 1, true, true, false},
		{"ot=th:8;rv:ffffffffffffff", 1 << 55, 1<<56 - 1, true, true, false},
		{"ot=th:fd70a3d70a3d71;rv:fe000000000000", 0xfd70a3d70a3d71, 0xfe000000000000, true, true, false},
		{"ot=rv:00000000000002;th:c", 0xc0000000000000, 2, true, true, false},
		{"vendor=x,ot=th:c", 0xc0000000000000, 0, true, false, false},
		{"ot=th:", 0, 0, false, false, true},
		{"ot=th:g;rv:00000000000001", 0, 0, false, false, true},
		{"\x00", 0, 0, false, false, true},
	} {
		ot, err := ReadOT(tc.state)
		if (err != nil) != tc.wantFail {
			t.Errorf("%q: error %v", tc.state, err)
			continue
		}
		if err == nil && (ot.HasThreshold != tc.hasTh || ot.HasRandomness != tc.hasRv || ot.Threshold.Unsigned() != tc.th || ot.Randomness.Unsigned() != tc.rv) {
			t.Errorf("%q: %+v", tc.state, ot)
		}
	}
}

func TestSetThreshold_KeepsOtherMembers(t *testing.T) {
	span := ptrace.NewSpan()
	span.TraceState().FromRaw("vendor=x,ot=th:8;rv:fffffffffffff0;ab:cd")
	SetThreshold(span, ThresholdOf(0.25), nil)
	ot, err := ReadOT(span.TraceState().AsRaw())
	if err != nil || ot.Threshold != ThresholdOf(0.25) || ot.Randomness.Unsigned() != 0xfffffffffffff0 {
		t.Errorf("%q: %+v %v", span.TraceState().AsRaw(), ot, err)
	}
	if raw := span.TraceState().AsRaw(); !strings.Contains(raw, "vendor=x") || !strings.Contains(raw, "ab:cd") {
		t.Errorf("lost members: %q", raw)
	}
	ClearThreshold(span)
	if ot, _ := ReadOT(span.TraceState().AsRaw()); ot.HasThreshold || !ot.HasRandomness {
		t.Errorf("after clearing: %q", span.TraceState().AsRaw())
	}
}

func FuzzConverter_Items(f *testing.F) {
	td, spans := request(3)
	addSpan(f, spans, 10, map[string]any{AttrKind: KindCall, AttrP: 0.5, AttrCPUP: 0.5, AttrCPUTime: 3})
	addSpan(f, spans, 10, map[string]any{AttrKind: KindAggregate, AttrP: 0.5, AttrMeasured: 3, AttrWallSum: 3, AttrWallBins: []any{1}, AttrWallCounts: []any{3.0}})
	addSpan(f, spans, 10, map[string]any{AttrKind: KindCounts, AttrCalls: 4})
	addSpan(f, spans, 10, map[string]any{AttrKind: KindProcess, AttrSDKPrefix + "x": 1})
	seed, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	c := NewConverter()
	f.Fuzz(func(t *testing.T, data []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data)
		if err != nil {
			return
		}
		items, skipped := c.Items(td)
		rows := 0
		for _, item := range items {
			rows += len(item.Rows)
			for _, r := range item.Rows {
				if r.Measured > 0 && !ValidProbability(r.P) || r.CPUMeasured > 0 && r.Kind != KindProcess && !(r.Q() > 0) {
					t.Fatalf("a measured row without probability: %+v", r)
				}
				if math.IsNaN(r.Calls) || r.Calls < 0 || r.EndNS < r.StartNS {
					t.Fatalf("untrue row: %+v", r)
				}
			}
		}
		if rows+skipped.Invalid+skipped.NotMethod != td.SpanCount() {
			t.Fatalf("%d spans gave %d rows, skipped %+v", td.SpanCount(), rows, skipped)
		}
	})
}

// BenchmarkConverter_Items converts calls whose attributes have one order, as those of a sender have.
func BenchmarkConverter_Items(b *testing.B) {
	td, spans := request(3)
	for range 1000 {
		a := addSpan(b, spans, 10, nil).Attributes()
		a.PutStr(AttrKind, KindCall)
		a.PutStr(AttrFunction, "shop/cart.(*Cart).Total")
		a.PutDouble(AttrP, 0.5)
		a.PutDouble(AttrCPUP, 0.5)
		a.PutInt(AttrCPUTime, 3)
		a.PutStr(AttrCPUState, CPUExact)
		a.PutStr(AttrCaller, "shop/web.Handler.Serve")
		a.PutStr(AttrTier, "inner")
		a.PutStr(AttrReason, "budget")
		a.PutDouble(AttrConfiguredRate, 0.5)
	}
	c := NewConverter()
	c.ReuseRows(1000)
	b.ReportAllocs()
	for b.Loop() {
		items, _ := c.Items(td)
		c.Recycle(items)
	}
}

func BenchmarkReadOT(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadOT("ot=th:f3333333333333;rv:f8c0ffee012345"); err != nil {
			b.Fatal(err)
		}
	}
}

// A start that int64 nanoseconds since 1970 cannot represent counts as absent.
func TestProcessStart(t *testing.T) {
	for text, want := range map[string]int64{
		"2026-06-01T08:00:00.5Z": time.Date(2026, 6, 1, 8, 0, 0, 5e8, time.UTC).UnixNano(), "1969-12-31T23:59:59Z": -1e9,
		"2262-05-01T00:00:00Z": 0, "9999-12-31T00:00:00Z": 0, "1600-01-01T00:00:00Z": 0, "yesterday": 0, "": 0,
	} {
		resource := pcommon.NewResource()
		resource.Attributes().PutStr(ResourceProcessStart, text)
		if r := ReadResource(resource); r.ProcessStartNS != want {
			t.Errorf("%q: %d, want %d", text, r.ProcessStartNS, want)
		}
	}
}
