package corehour

import (
	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/cpuslots"
)

// record is one timed call that waits to be exported. With its turn in the ring it
// fills one cache line.
type record struct {
	plan   *plan
	caller *callers.Owner // nil = unknown, callers.Entry = searched and none
	extra  *extra         // nil mostly
	start  int64          // as now() counts
	wall   int64
	cpu    int64  // only if state is cpuExact
	waits  uint32 // of these calls: how often they gave up the processor
	state  cpuState
	load   cpuslots.Load // when the call began: with the plan's CPU rate, its cpu_p
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

// cpuP returns the probability that the call had its CPU timed, given that it was kept.
func (r *record) cpuP() float64 {
	share := r.load.Share(r.plan.cpuRate)
	if r.tail { // kept in any case, but its CPU timed only if chosen when it began
		share *= r.plan.rate
	}
	return share
}

// cpuState is whether the CPU time of a call is known, and why not.
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

// extra is what few records have.
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

// TraceContext ties a measurement to a trace. A hook given to Start finds it in
// the context of a chosen call.
type TraceContext struct {
	TraceID   [16]byte
	SpanID    [8]byte // the span the call is part of
	RequestID string
	Group     string
}
