package corehour

import (
	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/cpuslots"
)

// record is one timed call that waits to be exported. With its sequence number in the ring it fills
// one cache line.
type record struct {
	plan   *plan
	caller *callers.Owner // nil = unknown, callers.Entry = searched and not found
	extra  *extra         // mostly nil
	start  int64          // in now()'s time
	wall   int64
	cpu    int64  // only if state is cpuExact
	waits  uint32 // how often the call gave up the processor
	state  cpuState
	load   cpuslots.Load // at the start of the call: with the plan's CPU rate it gives cpu_p
	failed bool
	tail   bool // kept because it was long
}

// p returns the probability that the call was timed and kept.
func (r *record) p() float64 {
	if r.tail {
		return 1
	}
	return r.plan.rate
}

// cpuP returns the probability that the call's CPU was timed, given that the call was kept.
func (r *record) cpuP() float64 {
	share := r.load.Share(r.plan.cpuRate)
	if r.tail { // always kept, but its CPU is timed only if it was chosen at its start
		share *= r.plan.rate
	}
	return share
}

// cpuState is the reason why the CPU time of a call is known or unknown.
type cpuState uint8

const (
	cpuNotSampled cpuState = iota
	cpuExact
	cpuUntrusted
	cpuUnavailable
	cpuStates
)

func (s cpuState) String() string {
	return [cpuStates]string{"not_sampled", "exact", "untrusted", "unavailable"}[s]
}

// extra holds data that few records have.
type extra struct {
	trace  TraceContext
	traced bool
	stack  string // "" = unknown
}

func (x *extra) withStack(stack string) *extra {
	if x == nil {
		x = new(extra)
	}
	x.stack = stack
	return x
}

// traced reports whether the record has the ids of a trace.
func (r *record) traced() bool { return r.extra != nil && r.extra.traced }

// TraceContext links a measurement to a trace. A hook given to Start returns it from the context of a
// chosen call.
type TraceContext struct {
	TraceID   [16]byte
	SpanID    [8]byte // the span the call is part of
	RequestID string
	Group     string
}
