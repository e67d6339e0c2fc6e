package adaptivesampler

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// measurementFields are the fields used for deciding and learning.
var measurementFields = methodspan.FieldsOf(
	methodspan.FieldKind, methodspan.FieldFunction, methodspan.FieldOldNamespace, methodspan.FieldOldFunction,
	methodspan.FieldSignature, methodspan.FieldCaller, methodspan.FieldWeightBasis, methodspan.FieldStratum,
	methodspan.FieldTier, methodspan.FieldEffectiveRate, methodspan.FieldP, methodspan.FieldCPUP,
	methodspan.FieldCPUTime, methodspan.FieldCalls, methodspan.FieldMeasured, methodspan.FieldCPUMeasured,
	methodspan.FieldWallSum, methodspan.FieldWallSquares, methodspan.FieldWallBins, methodspan.FieldWallCounts,
	methodspan.FieldCPUSum, methodspan.FieldCPUSquares, methodspan.FieldCPUBins, methodspan.FieldCPUCounts)

// measurement is the current span. It is reused for each span.
type measurement struct {
	methodspan.ParsedSpan
	p float64 // corehour.p; 0 = absent or not a probability
}

func (m *measurement) read(span ptrace.Span) {
	m.Parse(span.Attributes(), measurementFields)
	if m.p = m.Number(methodspan.FieldP); !methodspan.ValidProbability(m.p) {
		m.p = 0
	}
}

func (m *measurement) kind() string { return m.Text(methodspan.FieldKind) }

// countsItself reports whether the span stands for 1/p calls that no counts span has.
func (m *measurement) countsItself() bool { return m.foreign() && !m.Seen.Has(methodspan.FieldCalls) }

// foreign reports whether the span comes from another SDK.
func (m *measurement) foreign() bool {
	basis := m.Text(methodspan.FieldWeightBasis)
	return basis != "" && basis != methodspan.BasisExact
}
