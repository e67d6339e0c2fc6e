package methodspans

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// call validates one measured call. Without wall time or probability it drops the span;
// invalid CPU time is removed and the wall time stays.
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

// callCPU removes the CPU time if it is invalid.
func (n *normalizer) callCPU(span ptrace.Span, wall int64, p *requestPass) {
	r := &p.parsed
	attributes := span.Attributes()
	state := r.Text(methodspan.FieldCPUState)
	if !r.Seen.Has(methodspan.FieldCPUTime) {
		// A CPU probability of 0 is valid: the process never times its CPU.
		if r.Seen.Has(methodspan.FieldCPUP) && r.Number(methodspan.FieldCPUP) != 0 && !validProbability(r.Number(methodspan.FieldCPUP)) ||
			r.Seen.Has(methodspan.FieldCPUP) && !r.Good.Has(methodspan.FieldCPUP) {
			p.fault(cpuPInvalid, corrected)
			p.remove(attributes, methodspan.FieldsOf(methodspan.FieldCPUP))
		}
		switch {
		case state == methodspan.CPUExact:
			p.fault(cpuStateMismatch, corrected)
			attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUnavailable)
		case r.Seen.Has(methodspan.FieldCPUState) && !knownCPUState(state):
			p.fault(cpuStateMismatch, corrected)
			attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUntrusted)
		}
		return
	}

	cpu := r.Whole(methodspan.FieldCPUTime)
	reason := reasonCount
	switch {
	case !r.Good.Has(methodspan.FieldCPUTime) || cpu < 0:
		reason = cpuTimeInvalid
	case r.Seen.Has(methodspan.FieldCPUState) && state != methodspan.CPUExact:
		reason = cpuStateMismatch
	case n.exceedsWall(cpu, wall, 1):
		reason = cpuExceedsWall
	}
	stale := methodspan.Fields(0)
	if !validProbability(r.Number(methodspan.FieldCPUP)) {
		stale = methodspan.FieldsOf(methodspan.FieldCPUP)
		if reason == reasonCount {
			reason = cpuPInvalid
		}
	}
	if reason == reasonCount {
		return
	}
	p.fault(reason, corrected)
	p.remove(attributes, stale|methodspan.FieldsOf(methodspan.FieldCPUTime))
	if reason != cpuStateMismatch || !knownCPUState(state) {
		state = methodspan.CPUUntrusted
	}
	attributes.PutStr(methodspan.AttrCPUState, state)
}

// waits removes an invalid number of waits.
func (p *requestPass) waits(span ptrace.Span) {
	r := &p.parsed
	if r.Seen.Has(methodspan.FieldCPUWaits) && (!r.Good.Has(methodspan.FieldCPUWaits) || r.Whole(methodspan.FieldCPUWaits) < 0) {
		p.fault(waitsInvalid, corrected)
		p.remove(span.Attributes(), methodspan.FieldsOf(methodspan.FieldCPUWaits))
	}
}

// exceedsWall reports whether cpu is more than so many calls can use within wall on one
// thread each, both in ns.
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

// stratum removes an unknown stratum. The record is then weighted by its own probability.
func (p *requestPass) stratum(span ptrace.Span) {
	if p.parsed.Seen.Has(methodspan.FieldStratum) && p.parsed.Text(methodspan.FieldStratum) != methodspan.StratumTail {
		p.fault(stratumInvalid, corrected)
		p.remove(span.Attributes(), methodspan.FieldsOf(methodspan.FieldStratum))
	}
}
