package methodspans

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

func lint(t testing.TB, td ptrace.Traces) []Finding {
	t.Helper()
	sent := ptrace.NewTraces()
	td.CopyTo(sent)
	findings, err := Lint(sent)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestLint(t *testing.T) {
	one := func(add func(ptrace.SpanSlice) ptrace.Span, spoil ...func(ptrace.Span)) ptrace.Traces {
		return batch("a", 1, func(spans ptrace.SpanSlice) {
			addCall(spans)
			both(spoil...)(add(spans))
		})
	}
	other := func(spoil ...func(ptrace.Span)) ptrace.Traces {
		return foreign("web", func(spans ptrace.SpanSlice) { both(spoil...)(addForeign(spans, 1, 0)) })
	}
	known := state("ot=th:8;rv:ffffffffffffff")
	for _, c := range []struct {
		name string
		td   ptrace.Traces
		want []Finding // without names and ids
	}{
		{name: "ours", td: batch("a", 1, func(s ptrace.SpanSlice) {
			addCall(s)
			addCounts(s, "x.y", 3)
			addAggregate(s)
			addProcess(s)
		})},
		{name: "foreign with a threshold and CPU time", td: other(known, put(methodspan.AttrCPUTime, 1000))},
		{name: "foreign without a probability", td: other(), want: []Finding{{Span: 1, Attribute: "traceState", Found: "absent", Reason: "probability_absent", Outcome: "assumed",
			Wanted: "the probability the span was kept with: ot=th:0 for 1, ot=th:c for 0.25, or corehour.p"}}},
		{name: "p", td: one(addCall, put(methodspan.AttrP, 1.5), state("")), want: []Finding{{Span: 2, Attribute: "corehour.p", Found: "1.5", Reason: "p_invalid", Outcome: "dropped",
			Wanted: "a number above 0 and at most 1: the probability that the call was timed"}}},
		{name: "CPU above wall", td: one(addCall, put(methodspan.AttrCPUTime, 90_000_000)), want: []Finding{{Span: 2, Attribute: "corehour.cpu.time", Found: "90000000", Reason: "cpu_exceeds_wall", Outcome: "corrected",
			Wanted: "at most the wall time, 20000000 ns, within the tolerance of clocks"}}},
		{name: "CPU that is text", td: one(addCall, put(methodspan.AttrCPUTime, "5ms")), want: []Finding{{Span: 2, Attribute: "corehour.cpu.time", Found: `"5ms"`, Reason: "cpu_time_invalid", Outcome: "corrected",
			Wanted: "a whole number of ns from 0 on, of no more calls than were measured"}}},
		{name: "times", td: one(addCall, times(noon, noon-1)), want: []Finding{{Span: 2, Attribute: "endTimeUnixNano", Found: "1789999999999999999", Reason: "time_reversed", Outcome: "dropped",
			Wanted: "at least startTimeUnixNano, 1790000000000000000"}}},
		{name: "no end", td: one(addCall, times(noon, 0)), want: []Finding{{Span: 2, Attribute: "endTimeUnixNano", Found: "0", Reason: "time_invalid", Outcome: "dropped", Wanted: "nanoseconds since 1970, above 0 and before 2262"}}},
		{name: "two misplaced", td: one(addCall, put(methodspan.AttrCalls, 3), put(methodspan.AttrMeasured, 1)), want: []Finding{
			{Span: 2, Attribute: "corehour.calls", Found: "3", Reason: "attribute_misplaced", Outcome: "corrected", Wanted: "absent on a span of kind call"},
			{Span: 2, Attribute: "corehour.measured", Found: "1", Reason: "attribute_misplaced", Outcome: "corrected", Wanted: "absent on a span of kind call"}}},
		{name: "foreign and claims", td: other(known, put(methodspan.AttrWeightBasis, "exact")), want: []Finding{{Span: 1, Attribute: "corehour.weight_basis", Found: `"exact"`, Reason: "attribute_misplaced", Outcome: "corrected",
			Wanted: "absent on a span without corehour.kind"}}},
		{name: "kind", td: one(addCall, put(methodspan.AttrKind, "Call")), want: []Finding{{Span: 2, Attribute: "corehour.kind", Found: `"Call"`, Reason: "kind_unknown", Outcome: "passed",
			Wanted: "call, counts, aggregate or process, or absent on ordinary spans"}}},
		{name: "threshold above rv", td: other(state("ot=th:c;rv:80000000000000"), put(methodspan.AttrP, 0.25)), want: []Finding{{Span: 1, Attribute: "traceState", Found: `"ot=th:c;rv:80000000000000"`, Reason: "threshold_inconsistent", Outcome: "corrected",
			Wanted: "a threshold th not above rv, or without rv not above the last 14 digits of the trace id"}}},
		{name: "unnumbered counts", td: batch("a", 0, func(s ptrace.SpanSlice) { addCounts(s, "x.y", 3); addCall(s) }), want: []Finding{{Attribute: "corehour.batch.seq", Found: "absent", Reason: "batch_unnumbered", Outcome: "passed",
			Wanted: "1, 2, 3 ... for the requests of a process; a resend keeps its number"}}},
		{name: "calls without counts", td: batch("a", 0, func(s ptrace.SpanSlice) { addCall(s) })},
		{name: "counts of another length", td: one(func(s ptrace.SpanSlice) ptrace.Span { return addCounts(s, "x.y", 3) }, put(methodspan.AttrCountsCalls, []any{1, 2})), want: []Finding{{Span: 2, Attribute: "corehour.counts.methods", Found: `["x.y"]`,
			Reason: "counts_length", Outcome: "corrected", Wanted: "an array of as many names as there are calls"}}},
		{name: "a numbered request twice", td: func() ptrace.Traces {
			td := batch("a", 1, func(s ptrace.SpanSlice) { addCall(s) })
			addBatch(td, "a", 1, func(s ptrace.SpanSlice) { addCall(s) })
			return td
		}(), want: []Finding{{Attribute: "corehour.batch.seq", Found: "1 twice", Reason: "duplicate", Outcome: "dropped", Wanted: "another number for each request of a process"}}},
		{name: "no start of the process", td: func() ptrace.Traces {
			td := batch("a", 1, func(s ptrace.SpanSlice) { addCall(s) })
			td.ResourceSpans().At(0).Resource().Attributes().Remove(methodspan.ResourceProcessStart)
			return td
		}(), want: []Finding{{Attribute: "process.creation.time", Found: "absent", Reason: "identity_incomplete", Outcome: "passed",
			Wanted: "an id of the process and the time of its start (RFC 3339), so that repeats are recognised"}}},
		{name: "resource", td: func() ptrace.Traces {
			td := batch("a", 1, func(s ptrace.SpanSlice) { addCall(s) })
			td.ResourceSpans().At(0).Resource().Attributes().PutStr(methodspan.ResourceVersion, "1\xff")
			return td
		}(), want: []Finding{{Attribute: "service.version", Found: `"1\xff"`, Reason: "not_utf8", Outcome: "corrected", Wanted: "UTF-8"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lint(t, c.td)
			for i := range got {
				got[i].Name, got[i].SpanID = "", ""
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// checkLint asserts that the findings equal the counted faults, each with a place.
func checkLint(t *testing.T, td ptrace.Traces) {
	t.Helper()
	config := createDefaultConfig().(*Config)
	n, p := newNormalizer(config, nowForTest), newRequestPass()
	batches := newBatches(config.Limits.MaxInstances, config.Limits.RememberedBatches)
	sent := ptrace.NewTraces()
	td.CopyTo(sent)
	n.repairResources(sent, &p.requestCounts)
	nameProcesses(sent)
	claim, err := batches.claim(t.Context(), sent, "", &p.requestCounts)
	require.NoError(t, err)
	claim.removeDuplicates(sent)
	n.normalize(sent, p)
	counted := map[string]bool{}
	for r := range reasonCount {
		for o, times := range p.faults[r] {
			if times > 0 {
				counted[reasonNames[r]+" "+outcomeNames[o]] = true
			}
		}
	}
	found := map[string]bool{}
	for _, f := range lint(t, td) {
		if f.Attribute == "" || f.Found == "" || f.Wanted == "" {
			t.Errorf("%+v says too little", f)
		}
		if f.Attribute == placeAttributes {
			t.Errorf("%+v names no attribute", f)
		}
		if f.Reason != reasonDuplicate && f.Reason != reasonNoProbability {
			found[f.Reason+" "+f.Outcome] = true
		}
	}
	for what := range counted {
		if !found[what] {
			t.Errorf("the receiver counts %s, lint does not find it", what)
		}
	}
	for what := range found {
		if !counted[what] && p.duplicates == 0 { // lint also checks spans of dropped duplicates
			t.Errorf("lint finds %s, the receiver does not count it", what)
		}
	}
}

func TestLint_FindsAllCountedFaults(t *testing.T) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 20+random.IntN(300))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		if !t.Run("", func(t *testing.T) { checkLint(t, (&dice{data}).traces()) }) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzLint(f *testing.F) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 4))
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkLint(t, (&dice{data}).traces()) })
}

// Every fault has a description of a valid value, and places unless they depend on the span.
func TestExplanations_Complete(t *testing.T) {
	elsewhere := []faultReason{textTooLong, attributeMisplaced, valueInvalid, attributeDuplicate, notUTF8}
	computed := []faultReason{textTooLong, attributeMisplaced, valueInvalid, timeReversed, timeInFuture, cpuExceedsWall}
	for r := range reasonCount {
		if len(explanations[r].places) == 0 && !slices.Contains(elsewhere, r) {
			t.Errorf("%s says no place", reasonNames[r])
		}
		if explanations[r].wanted == "" && !slices.Contains(computed, r) {
			t.Errorf("%s says nothing that is wanted", reasonNames[r])
		}
	}
}
