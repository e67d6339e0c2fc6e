package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// TestSQL_JoinWithTraces runs the example of docs/guides/traces.md: the export command, then the query that joins its
// file with traces as the collector's file exporter writes them.
func TestSQL_JoinWithTraces(t *testing.T) {
	clock(t, evening)
	page, err := os.ReadFile("../../docs/guides/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	export := regexp.MustCompile(`(?s)corehour sql .*?\n  "(.*?)"\n`).FindSubmatch(page)
	query := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(page)
	if export == nil || query == nil {
		t.Fatal("the page shows no export or no query")
	}
	const slow, fast = "/checkout/{id}", "/health"
	p := fixture.NewProcess("1.0", "a", fixture.Start)
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	p.Counts("shop/cart.Cart.Total", fixture.Start, time.Minute, 40)
	for i := range 40 {
		p.Call("shop/cart.Cart.Total", methodspan.CallerEntry, fixture.Start.Add(time.Duration(i)*time.Second), 20*time.Millisecond, time.Duration(1+i%2*9)*time.Millisecond, 1, 1)
	}
	item := p.Item()
	calls := 0
	for i := range item.Rows {
		r := &item.Rows[i]
		if r.Kind != methodspan.KindCall {
			continue
		}
		r.TraceID, r.SpanID, r.ParentSpanID = [16]byte{1, byte(calls)}, [8]byte{2, byte(calls)}, [8]byte{3, byte(calls)}
		if calls < 30 { // the traces of the other calls were not kept
			span := spans.AppendEmpty()
			span.SetTraceID(r.TraceID)
			span.SetSpanID(r.ParentSpanID)
			span.SetKind(ptrace.SpanKindServer)
			span.Attributes().PutStr("http.request.method", "GET")
			span.Attributes().PutStr("http.route", map[bool]string{true: slow, false: fast}[r.CPUNS > 5e6])
			span.SetParentSpanID(pcommon.SpanID{4, byte(calls)})
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(fixture.Start.Add(time.Duration(calls) * time.Second)))
			// The request calls another instrumented service twice, whose server spans are in the same trace.
			for again := range 2 {
				next := spans.AppendEmpty()
				next.SetTraceID(r.TraceID)
				next.SetSpanID(pcommon.SpanID{5, byte(calls), byte(again)})
				next.SetParentSpanID(r.ParentSpanID)
				next.SetKind(ptrace.SpanKindServer)
				next.SetStartTimestamp(span.StartTimestamp() + pcommon.Timestamp(again+1))
				next.Attributes().PutStr("http.route", "/price")
			}
			inner := spans.AppendEmpty()
			inner.SetTraceID(r.TraceID)
			inner.SetSpanID(pcommon.SpanID{9, byte(calls)})
			inner.SetKind(ptrace.SpanKindClient)
		}
		calls++
	}
	root := fixture.Write(t, []methodspan.Item{item})
	t.Chdir(t.TempDir())
	if r := corehour("sql", "--warehouse", root, "--output", "calls.parquet", string(export[1])); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	lines, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(lines), hex.EncodeToString([]byte{1, 1, 0, 0})) {
		t.Fatalf("ids are not hexadecimal in %.200s", lines)
	}
	if err := os.WriteFile(filepath.Join(".", "traces.jsonl"), append(lines, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), string(query[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var route, class, method string
		var records int64
		var ms float64
		if err := rows.Scan(&route, &class, &method, &records, &ms); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s.%s %d records %.0f ms", route, class, method, records, ms))
	}
	want := []string{slow + " shop/cart.Cart.Total 15 records 150 ms", fast + " shop/cart.Cart.Total 15 records 15 ms"}
	if err := rows.Err(); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q; %v", got, want, err)
	}
}
