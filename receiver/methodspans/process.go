package methodspans

import (
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// process validates the span of a process. Reconciliation needs the span, so it always stays;
// invalid values are removed one by one.
func (n *normalizer) process(span ptrace.Span, p *requestPass) {
	n.repairOrNow(span, p)
	p.noticeThinning(span)
	r := &p.parsed
	attributes := span.Attributes()
	bad := methodspan.Fields(0)
	check := func(f methodspan.Field, ok bool) {
		if r.Seen.Has(f) && !ok {
			p.fault(processValueInvalid, corrected)
			bad |= methodspan.FieldsOf(f)
		}
	}
	for _, f := range [...]methodspan.Field{methodspan.FieldCores, methodspan.FieldHostCores, methodspan.FieldCPULimit} {
		check(f, r.Good.Has(f) && r.Number(f) > 0 && r.Number(f) <= methodspan.MostCores)
	}
	check(methodspan.FieldRSS, r.Good.Has(methodspan.FieldRSS) && r.Whole(methodspan.FieldRSS) >= 0)
	check(methodspan.FieldFinal, r.Good.Has(methodspan.FieldFinal))
	if bad != 0 {
		p.remove(attributes, bad)
	}
	p.processCPU(span)
	attributes.RemoveIf(func(name string, v pcommon.Value) bool {
		if !strings.HasPrefix(name, methodspan.AttrSDKPrefix) {
			return false
		}
		x, ok := methodspan.FloatOf(v)
		if ok = ok && math.Abs(x) <= math.MaxInt64; !ok {
			p.fault(processValueInvalid, corrected)
		}
		return !ok
	})
}

// processCPU removes the CPU time of the process if it is invalid. The maximum is the wall time
// times the number of cores.
func (p *requestPass) processCPU(span ptrace.Span) {
	r := &p.parsed
	attributes := span.Attributes()
	if !r.Seen.Has(methodspan.FieldCPUTime) {
		return
	}
	state := r.Text(methodspan.FieldCPUState)
	switch {
	case !r.Good.Has(methodspan.FieldCPUTime) || r.Whole(methodspan.FieldCPUTime) < 0:
		p.fault(cpuTimeInvalid, corrected)
		state = methodspan.CPUUntrusted
	case !p.possibleCPU(span, r.Whole(methodspan.FieldCPUTime)):
		p.fault(cpuExceedsWall, corrected)
		state = methodspan.CPUUntrusted
	case r.Seen.Has(methodspan.FieldCPUState) && state != methodspan.CPUExact:
		p.fault(cpuStateMismatch, corrected)
		if !knownCPUState(state) {
			state = methodspan.CPUUntrusted
		}
	default:
		return
	}
	p.remove(attributes, methodspan.FieldsOf(methodspan.FieldCPUTime))
	attributes.PutStr(methodspan.AttrCPUState, state)
}
