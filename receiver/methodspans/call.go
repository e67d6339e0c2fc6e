package methodspans

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// call validates one measured call. Without wall time or weight nothing of it
// is usable; without CPU time its wall time still is.
func (n *normalizer) call(span ptrace.Span, p *requestPass) bool {
	start, end := span.StartTimestamp(), span.EndTimestamp()
	if !validTime(start) || !validTime(end) {
		p.fault(timeInvalid, dropped)
		return false
	}
	if end < start {
		p.fault(timeReversed, dropped)
		return false
	}
	if !p.possibleCall(span) {
		return false
	}
	if !p.callProbability(span) {
		return false
	}
	n.callCPU(span, int64(end-start), p)
	p.waits(span)
	p.stratum(span)
	return n.method(span, p)
}

// callCPU makes the CPU time true or absent.
func (n *normalizer) callCPU(span ptrace.Span, wall int64, p *requestPass) {
	r := &p.parsed
	attributes := span.Attributes()
	state := r.textOf(fieldCPUState)
	if !r.seen.has(fieldCPUTime) {
		// A CPU probability of 0 is true of a process whose CPU is never timed.
		if r.seen.has(fieldCPUP) && r.numberOf(fieldCPUP) != 0 && !validProbability(r.numberOf(fieldCPUP)) ||
			r.seen.has(fieldCPUP) && !r.good.has(fieldCPUP) {
			p.fault(cpuPInvalid, corrected)
			p.remove(attributes, setOf(fieldCPUP))
		}
		switch {
		case state == methodspan.CPUExact:
			p.fault(cpuStateMismatch, corrected)
			attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUnavailable)
		case r.seen.has(fieldCPUState) && !knownCPUState(state):
			p.fault(cpuStateMismatch, corrected)
			attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUntrusted)
		}
		return
	}

	cpu := r.wholeOf(fieldCPUTime)
	reason := reasonCount
	switch {
	case !r.good.has(fieldCPUTime) || cpu < 0:
		reason = cpuTimeInvalid
	case r.seen.has(fieldCPUState) && state != methodspan.CPUExact:
		reason = cpuStateMismatch
	case n.exceedsWall(cpu, wall, 1):
		reason = cpuExceedsWall
	}
	stale := fields(0)
	if !validProbability(r.numberOf(fieldCPUP)) {
		stale = setOf(fieldCPUP)
		if reason == reasonCount {
			reason = cpuPInvalid
		}
	}
	if reason == reasonCount {
		return
	}
	p.fault(reason, corrected)
	p.remove(attributes, stale|setOf(fieldCPUTime))
	if reason != cpuStateMismatch || !knownCPUState(state) {
		state = methodspan.CPUUntrusted
	}
	attributes.PutStr(methodspan.AttrCPUState, state)
}

// waits removes a number of waits that can be none.
func (p *requestPass) waits(span ptrace.Span) {
	r := &p.parsed
	if r.seen.has(fieldCPUWaits) && (!r.good.has(fieldCPUWaits) || r.wholeOf(fieldCPUWaits) < 0) {
		p.fault(waitsInvalid, corrected)
		p.remove(span.Attributes(), setOf(fieldCPUWaits))
	}
}

// exceedsWall reports whether so much CPU time cannot have been used by n calls
// in so much wall time on one thread.
func (n *normalizer) exceedsWall(cpu, wall, calls int64) bool {
	return float64(cpu) > float64(wall)*(1+n.tolerance.Relative)+float64(n.tolerance.Absolute)*float64(calls)
}

func knownCPUState(state string) bool {
	switch state {
	case methodspan.CPUExact, methodspan.CPUNotSampled, methodspan.CPUUntrusted, methodspan.CPUUnavailable:
		return true
	}
	return false
}

// stratum removes an unknown stratum: its records are then weighed by their own p,
// like all others.
func (p *requestPass) stratum(span ptrace.Span) {
	if p.parsed.seen.has(fieldStratum) && p.parsed.textOf(fieldStratum) != methodspan.StratumTail {
		p.fault(stratumInvalid, corrected)
		p.remove(span.Attributes(), setOf(fieldStratum))
	}
}
