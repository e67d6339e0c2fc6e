package methodspans

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// rowOf sends a request of one span and returns its row.
func rowOf(t *testing.T, r *rig, td ptrace.Traces) methodspan.Row {
	t.Helper()
	items, skipped := methodspan.NewConverter().Items(r.receive(td))
	require.Zero(t, skipped)
	require.Len(t, items, 1)
	require.Len(t, items[0].Rows, 1)
	return items[0].Rows[0]
}

// Spans of other SDKs can have measurements and their probability.
func TestStatedValues_Foreign(t *testing.T) {
	cpu := put(methodspan.AttrCPUTime, 5_000_000)
	threshold := state("ot=th:c;rv:ffffffffffffff")
	for _, c := range []struct {
		name   string
		with   func(ptrace.Span)
		p      float64
		basis  string
		cpuNS  int64
		cpuP   float64
		state  string
		faults []string
	}{
		{name: "threshold", with: both(cpu, threshold), p: 0.25, basis: "threshold", cpuNS: 5e6, cpuP: 1, state: "exact"},
		{name: "p", with: both(cpu, put(methodspan.AttrP, 0.125)), p: 0.125, basis: "threshold", cpuNS: 5e6, cpuP: 1, state: "exact"},
		{name: "p and no CPU time", with: put(methodspan.AttrP, 0.125), p: 0.125, basis: "threshold", state: "unavailable"},
		{name: "p that is a whole number", with: put(methodspan.AttrP, 1), p: 1, basis: "threshold", state: "unavailable"},
		{name: "CPU of some calls", with: both(cpu, threshold, put(methodspan.AttrCPUP, 0.5)), p: 0.25, basis: "threshold", cpuNS: 5e6, cpuP: 0.5, state: "exact"},
		{name: "not this one", with: both(threshold, put(methodspan.AttrCPUP, 0.5), put(methodspan.AttrCPUState, "not_sampled")), p: 0.25, basis: "threshold", cpuP: 0.5, state: "not_sampled"},
		{name: "CPU and nothing that says p", with: cpu, p: 1, basis: "assumed", cpuNS: 5e6, cpuP: 1, state: "exact"},
		{name: "p and a lower threshold", with: both(cpu, threshold, put(methodspan.AttrP, 0.5)), p: 0.25, basis: "threshold", cpuNS: 5e6, cpuP: 1, state: "exact", faults: []string{"corrected threshold_thinned"}},
		{name: "p above 1", with: both(cpu, threshold, put(methodspan.AttrP, 2)), p: 0.25, basis: "threshold", cpuNS: 5e6, cpuP: 1, state: "exact", faults: []string{"corrected p_invalid"}},
		{name: "p that is text", with: put(methodspan.AttrP, "0.5"), p: 1, basis: "assumed", state: "unavailable", faults: []string{"corrected p_invalid"}},
		{name: "CPU above wall time", with: both(threshold, put(methodspan.AttrCPUTime, int64(time.Hour))), p: 0.25, basis: "threshold", cpuP: 1, state: "untrusted", faults: []string{"corrected cpu_exceeds_wall"}},
		{name: "CPU that is text", with: both(threshold, put(methodspan.AttrCPUTime, "5")), p: 0.25, basis: "threshold", cpuP: 1, state: "untrusted", faults: []string{"corrected cpu_time_invalid"}},
		{name: "CPU probability of 0", with: both(cpu, threshold, put(methodspan.AttrCPUP, 0.0)), p: 0.25, basis: "threshold", state: "untrusted", faults: []string{"corrected cpu_p_invalid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			row := rowOf(t, r, foreign("web", func(spans ptrace.SpanSlice) {
				span := addForeign(spans, 1, 0)
				times(noon, noon+second)(span)
				c.with(span)
			}))
			assert.Equal(t, c.p, row.P)
			assert.Equal(t, 1/c.p, row.Calls)
			assert.Equal(t, c.basis, row.WeightBasis)
			assert.Equal(t, c.cpuNS, row.CPUNS)
			assert.Equal(t, c.cpuNS > 0, row.CPUMeasured == 1)
			assert.Equal(t, c.cpuP, row.CPUP)
			assert.Equal(t, c.state, row.CPUState)
			assert.Equal(t, c.faults, r.faults())
		})
	}
}

// Measurements of a client that sends no counts stand for 1/p calls each. A client that counts is
// recognised by its batch numbers or its counts.
func TestStatedValues_UncountedClients(t *testing.T) {
	call := func(spans ptrace.SpanSlice) { addCall(spans) }
	aggregate := func(spans ptrace.SpanSlice) { addAggregate(spans) }
	calls := func(t *testing.T, td ptrace.Traces) (basis string, calls float64) {
		t.Helper()
		items, skipped := methodspan.NewConverter().Items(td)
		require.Zero(t, skipped)
		for _, row := range items[0].Rows {
			if row.Kind != methodspan.KindCounts {
				return row.WeightBasis, row.Calls
			}
		}
		t.Fatal("no measurement")
		return "", 0
	}
	for _, c := range []struct {
		name  string
		sent  []ptrace.Traces // the last one is checked
		basis string
		calls float64
	}{
		{"call", []ptrace.Traces{batch("a", 0, call)}, "threshold", 4},
		{"aggregate", []ptrace.Traces{batch("a", 0, aggregate)}, "threshold", 6},
		{"numbered call", []ptrace.Traces{batch("a", 1, call)}, "exact", 0},
		{"numbered aggregate", []ptrace.Traces{batch("a", 1, aggregate)}, "exact", 0},
		{"call whose sender says it is counted", []ptrace.Traces{batch("a", 0, func(s ptrace.SpanSlice) { put(methodspan.AttrWeightBasis, "exact")(addCall(s)) })}, "exact", 0},
		{"call before its counts", []ptrace.Traces{batch("a", 0, func(s ptrace.SpanSlice) { addCall(s); addCounts(s, "shop/cart.(*Cart).Total", 9) })}, "exact", 0},
		{"call after a request with counts", []ptrace.Traces{batch("a", 0, func(s ptrace.SpanSlice) { addCounts(s, "x.y", 9) }), batch("a", 0, call)}, "exact", 0},
		{"CPU time without a probability of it", []ptrace.Traces{batch("a", 0, func(s ptrace.SpanSlice) { put(methodspan.AttrCPUP, nil)(addCall(s)) })}, "threshold", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, testConfig(nil), nil)
			var got ptrace.Traces
			for _, td := range c.sent {
				got = r.receive(td)
			}
			basis, n := calls(t, got)
			assert.Equal(t, c.basis, basis)
			assert.Equal(t, c.calls, n)
			if c.basis == "threshold" {
				assert.Empty(t, r.faults())
				again := r.receive(got) // through a second collector
				basis, n = calls(t, again)
				assert.Equal(t, c.basis, basis)
				assert.Equal(t, c.calls, n)
			}
		})
	}
}
