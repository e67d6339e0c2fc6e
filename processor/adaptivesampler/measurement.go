package adaptivesampler

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// measurement is what deciding and learning need of a span. It is reused from
// span to span.
type measurement struct {
	kind        string
	basis       string
	stratum     string
	function    string
	oldClass    string
	oldFunction string
	signature   string
	caller      string
	p           float64
	pValue      pcommon.Value
	hasP        bool
	hasTier     bool
	// hasEffective: a stage before this one has written what p was there.
	hasEffective bool

	cpuP       float64 // 0 = absent or none
	cpu        int64   // of a call
	hasCPU     bool
	calls      float64 // of counts
	hasCalls   bool
	measured   int64 // these of aggregates
	cpuCount   int64
	wallSum    int64
	cpuSum     int64
	wallSquare float64
	cpuSquare  float64
}

// read reads a span in one pass over its attributes; visit is m.visit, bound
// once because a method value allocates.
func (m *measurement) read(span ptrace.Span, visit func(string, pcommon.Value) bool) {
	*m = measurement{}
	span.Attributes().Range(visit)
}

func (m *measurement) visit(name string, v pcommon.Value) bool {
	switch name {
	case methodspan.AttrKind:
		m.kind = v.Str()
	case methodspan.AttrP:
		if p, ok := methodspan.FloatOf(v); ok && !m.hasP && methodspan.ValidProbability(p) {
			m.p, m.pValue, m.hasP = p, v, true
		}
	case methodspan.AttrFunction:
		m.function = v.Str()
	case methodspan.AttrOldNamespace:
		m.oldClass = v.Str()
	case methodspan.AttrOldFunction:
		m.oldFunction = v.Str()
	case methodspan.AttrSignature:
		m.signature = v.Str()
	case methodspan.AttrWeightBasis:
		m.basis = v.Str()
	case methodspan.AttrStratum:
		m.stratum = v.Str()
	case methodspan.AttrTier:
		m.hasTier = true
	case methodspan.AttrEffectiveRate:
		m.hasEffective = true
	case methodspan.AttrCaller:
		m.caller = v.Str()
	case methodspan.AttrCPUTime:
		m.cpu, m.hasCPU = methodspan.IntOf(v)
	case methodspan.AttrCPUP:
		m.cpuP, _ = methodspan.FloatOf(v)
	case methodspan.AttrCalls:
		m.calls, m.hasCalls = methodspan.FloatOf(v)
	default:
		m.visitSums(name, v)
	}
	return true
}

// visitSums reads what only aggregates have.
func (m *measurement) visitSums(name string, v pcommon.Value) {
	switch name {
	case methodspan.AttrMeasured:
		m.measured, _ = methodspan.IntOf(v)
	case methodspan.AttrCPUMeasured:
		m.cpuCount, _ = methodspan.IntOf(v)
	case methodspan.AttrWallSum:
		m.wallSum, _ = methodspan.IntOf(v)
	case methodspan.AttrCPUSum:
		m.cpuSum, _ = methodspan.IntOf(v)
	case methodspan.AttrWallSquares:
		m.wallSquare, _ = methodspan.FloatOf(v)
	case methodspan.AttrCPUSquares:
		m.cpuSquare, _ = methodspan.FloatOf(v)
	}
}

// foreign reports whether the span is another SDK's.
func (m *measurement) foreign() bool { return m.basis != "" && m.basis != methodspan.BasisExact }

// key returns the method, by the same order of names as methodspan.IdentityOf.
func (m *measurement) key(span ptrace.Span, scope string) methodKey {
	switch {
	case m.function != "":
		return methodKey{function: m.function, signature: m.signature}
	case m.oldFunction != "":
		return methodKey{function: m.oldFunction, class: m.oldClass, signature: m.signature, apart: true}
	default:
		return methodKey{function: span.Name(), class: scope, signature: m.signature, apart: true}
	}
}
