package methodspans

import (
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// process validates the span by which a process reports on itself. The ledger
// needs it, so it always stays; values that cannot be are removed one by one.
func (n *normalizer) process(span ptrace.Span, p *requestPass) {
	n.repairOrNow(span, p)
	p.noticeThinning(span)
	r := &p.parsed
	attributes := span.Attributes()
	bad := fields(0)
	check := func(f field, ok bool) {
		if r.seen.has(f) && !ok {
			p.fault(processValueInvalid, corrected)
			bad |= setOf(f)
		}
	}
	for _, f := range [...]field{fieldCores, fieldHostCores, fieldCPULimit} {
		check(f, r.good.has(f) && r.numberOf(f) > 0 && r.numberOf(f) <= methodspan.MostCores)
	}
	check(fieldRSS, r.good.has(fieldRSS) && r.wholeOf(fieldRSS) >= 0)
	check(fieldFinal, r.good.has(fieldFinal))
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

// processCPU makes the CPU time of the process true or absent. It may exceed
// wall time, as often as there are cores.
func (p *requestPass) processCPU(span ptrace.Span) {
	r := &p.parsed
	attributes := span.Attributes()
	if !r.seen.has(fieldCPUTime) {
		return
	}
	state := r.textOf(fieldCPUState)
	switch {
	case !r.good.has(fieldCPUTime) || r.wholeOf(fieldCPUTime) < 0:
		p.fault(cpuTimeInvalid, corrected)
		state = methodspan.CPUUntrusted
	case !p.possibleCPU(span, r.wholeOf(fieldCPUTime)):
		p.fault(cpuExceedsWall, corrected)
		state = methodspan.CPUUntrusted
	case r.seen.has(fieldCPUState) && state != methodspan.CPUExact:
		p.fault(cpuStateMismatch, corrected)
		if !knownCPUState(state) {
			state = methodspan.CPUUntrusted
		}
	default:
		return
	}
	p.remove(attributes, setOf(fieldCPUTime))
	attributes.PutStr(methodspan.AttrCPUState, state)
}
