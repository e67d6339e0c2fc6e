package adaptivesampler

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// measurement is what a decision needs of a span. It is reused from span to
// span.
type measurement struct {
	kind        string
	basis       string
	stratum     string
	function    string
	oldClass    string
	oldFunction string
	signature   string
	p           float64
	pValue      pcommon.Value
	hasP        bool
	hasTier     bool
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
	}
	return true
}

// key is the method, by the same order of names as methodspan.IdentityOf.
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
