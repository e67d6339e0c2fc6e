package methodspans

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// Quantities by kind of span. On another kind they are removed, since a reader of the span
// would add them up.
var (
	wallSums = methodspan.FieldsOf(methodspan.FieldWallSum, methodspan.FieldWallSquares, methodspan.FieldWallMax, methodspan.FieldWallBins, methodspan.FieldWallCounts)
	cpuSums  = methodspan.FieldsOf(methodspan.FieldCPUSum, methodspan.FieldCPUSquares, methodspan.FieldCPUMax, methodspan.FieldCPUBins, methodspan.FieldCPUCounts, methodspan.FieldCPUMeasured, methodspan.FieldCPUWaits)

	quantitiesOf = [...]methodspan.Fields{
		kindCall:      methodspan.FieldsOf(methodspan.FieldCPUTime, methodspan.FieldCPUWaits),
		kindCounts:    methodspan.FieldsOf(methodspan.FieldCalls, methodspan.FieldCountsMethods, methodspan.FieldCountsCalls),
		kindAggregate: methodspan.FieldsOf(methodspan.FieldMeasured, methodspan.FieldErrors) | wallSums | cpuSums,
		kindProcess:   methodspan.FieldsOf(methodspan.FieldCPUTime, methodspan.FieldCores, methodspan.FieldHostCores, methodspan.FieldCPULimit, methodspan.FieldRSS, methodspan.FieldFinal),
	}
	allQuantities = quantitiesOf[kindCall] | quantitiesOf[kindCounts] | quantitiesOf[kindAggregate] | quantitiesOf[kindProcess]

	prices = methodspan.FieldsOf(methodspan.FieldPrice, methodspan.FieldPriceSource)

	// Texts that are removed if they are too long.
	optionalTexts = [...]methodspan.Field{methodspan.FieldSignature, methodspan.FieldRequest, methodspan.FieldGroup, methodspan.FieldTier, methodspan.FieldReason, methodspan.FieldPriceSource, methodspan.FieldStack}

	// Fields whose bad values have their own checks and fault reasons.
	judged   = allQuantities | notReserved | prices | methodspan.FieldsOf(methodspan.FieldKind, methodspan.FieldCPUState, methodspan.FieldStratum, methodspan.FieldWeightBasis)
	judgedOf = [...]methodspan.Fields{
		kindCall:      judged | methodspan.FieldsOf(methodspan.FieldP, methodspan.FieldCPUP),
		kindCounts:    judged,
		kindAggregate: judged | methodspan.FieldsOf(methodspan.FieldP, methodspan.FieldCPUP),
		kindProcess:   judged,
	}

	// Fields that a span of another SDK can have: correlation, which has no quantity, and
	// stated measurements, which are checked as those of the corehour SDK.
	foreignMayHave = methodspan.FieldsOf(methodspan.FieldSignature, methodspan.FieldRequest, methodspan.FieldGroup, methodspan.FieldStack) | notReserved | stated
	stated         = methodspan.FieldsOf(methodspan.FieldP, methodspan.FieldCPUTime, methodspan.FieldCPUP, methodspan.FieldCPUState)
	notReserved    = methodspan.FieldsOf(methodspan.FieldFunction, methodspan.FieldOldNamespace, methodspan.FieldOldFunction)
)

// remove removes fields from a span and from its parsed form.
func (p *requestPass) remove(attributes pcommon.Map, s methodspan.Fields) {
	attributes.RemoveIf(func(name string, _ pcommon.Value) bool {
		f, _ := methodspan.FieldOf(name)
		return s.Has(f)
	})
	p.parsed.Forget(s)
}

// misplacedFields returns the quantities in r that spans of kind k do not have. A measurement of another SDK has 0
// calls after a collector has counted it.
func misplacedFields(r *methodspan.ParsedSpan, k kind) methodspan.Fields {
	misplaced := r.Seen & allQuantities &^ quantitiesOf[k]
	if ofOtherSDK(r) && k != kindProcess && r.Good.Has(methodspan.FieldCalls) && r.Number(methodspan.FieldCalls) == 0 {
		misplaced &^= methodspan.FieldsOf(methodspan.FieldCalls)
	}
	return misplaced
}

// ofOtherSDK reports whether an earlier collector has marked the span as one of another SDK.
func ofOtherSDK(r *methodspan.ParsedSpan) bool {
	basis := r.Text(methodspan.FieldWeightBasis)
	return basis != "" && basis != methodspan.BasisExact
}

// badFields returns the fields with bad values that have no fault reason of their own.
func badFields(r *methodspan.ParsedSpan, k kind) methodspan.Fields {
	return r.Seen &^ r.Good &^ judgedOf[k]
}

// tidy corrects faults that attributes of any kind of span can have. Valid attributes stay
// unchanged and cost almost nothing.
func (n *normalizer) tidy(attributes pcommon.Map, k kind, p *requestPass) {
	r := &p.parsed
	if r.Duplicate {
		p.fault(attributeDuplicate, corrected)
		removeRepeated(attributes)
	}
	if misplaced := misplacedFields(r, k); misplaced != 0 {
		p.fault(attributeMisplaced, corrected)
		p.remove(attributes, misplaced)
	}
	if bad := badFields(r, k); bad != 0 {
		p.fault(valueInvalid, corrected)
		p.remove(attributes, bad)
	}
	if r.Seen&prices != 0 && n.untrustedPrice(attributes, &p.requestCounts) {
		r.Forget(prices)
	}
	n.tidyTexts(attributes, p)
	if r.Seen.Has(methodspan.FieldWeightBasis) && !(r.Good.Has(methodspan.FieldWeightBasis) && knownBasis(r.Text(methodspan.FieldWeightBasis))) {
		p.fault(basisInvalid, corrected)
		p.remove(attributes, methodspan.FieldsOf(methodspan.FieldWeightBasis))
	}
}

// knownBasis reports whether s is empty or a basis that a receiver or the corehour SDK writes.
func knownBasis(s string) bool {
	return s == methodspan.BasisExact || slices.Contains(basisNames[:], s)
}

// removeRepeated keeps the first attribute of each field.
func removeRepeated(attributes pcommon.Map) {
	var met methodspan.Fields
	attributes.RemoveIf(func(name string, _ pcommon.Value) bool {
		f, _ := methodspan.FieldOf(name)
		if f == methodspan.NoField {
			return false
		}
		if met.Has(f) {
			return true
		}
		met |= 1 << f
		return false
	})
}

// repairUTF8 replaces invalid UTF-8 in the texts of a span: a single such byte makes a whole
// batch unwritable in the exporter.
func (p *requestPass) repairUTF8(attributes pcommon.Map) {
	r := &p.parsed
	attributes.Range(func(name string, v pcommon.Value) bool {
		if f, _ := methodspan.FieldOf(name); r.NotUTF8.Has(f) {
			r.SetText(f, validUTF8(r.Text(f)))
			v.SetStr(r.Text(f))
		}
		return true
	})
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// claimedFields returns the fields that a span of another SDK must not have, or has with a bad value.
func claimedFields(r *methodspan.ParsedSpan) methodspan.Fields {
	return r.Seen &^ (foreignMayHave & (r.Good | notReserved | stated))
}

// tidyForeign removes attributes that only the corehour SDK can set, and repairs texts.
func (n *normalizer) tidyForeign(attributes pcommon.Map, p *requestPass) {
	r := &p.parsed
	if r.Duplicate {
		p.fault(attributeDuplicate, corrected)
		removeRepeated(attributes)
	}
	if claimed := claimedFields(r); claimed != 0 || r.Reserved {
		p.fault(attributeMisplaced, corrected)
		attributes.RemoveIf(func(name string, _ pcommon.Value) bool {
			f, reserved := methodspan.FieldOf(name)
			return reserved && (f == methodspan.NoField || claimed.Has(f))
		})
		r.Forget(claimed)
	}
	n.tidyTexts(attributes, p)
}

// tidyTexts repairs or removes texts that cannot be stored.
func (n *normalizer) tidyTexts(attributes pcommon.Map, p *requestPass) {
	r := &p.parsed
	if r.NotUTF8 != 0 {
		p.fault(notUTF8, corrected)
		p.repairUTF8(attributes)
	}
	for _, f := range optionalTexts {
		most := n.limits.MaxNameLength
		if f == methodspan.FieldStack {
			most = max(most, maxStack)
		}
		if r.Good.Has(f) && len(r.Text(f)) > most {
			p.fault(textTooLong, corrected)
			p.remove(attributes, methodspan.FieldsOf(f))
		}
	}
}

// maxStack is several times the longest stack that the corehour SDK sends.
const maxStack = 16 << 10

// repairResources repairs and shortens texts of resources, which every row of a process has,
// and removes untrusted prices.
func (n *normalizer) repairResources(td ptrace.Traces, t *requestCounts) {
	for _, rs := range td.ResourceSpans().All() {
		n.untrustedPrice(rs.Resource().Attributes(), t)
		rs.Resource().Attributes().Range(func(name string, v pcommon.Value) bool {
			if v.Type() == pcommon.ValueTypeStr && !utf8.ValidString(v.Str()) {
				t.fault(notUTF8, corrected)
				v.SetStr(validUTF8(v.Str()))
			}
			if !methodspan.ResourceColumns[name] {
				return true
			}
			if text := v.AsString(); len(text) > n.limits.MaxNameLength {
				t.fault(textTooLong, corrected)
				v.SetStr(shortened(text, n.limits.MaxNameLength))
			}
			return true
		})
	}
}

// shortened cuts a text to length bytes, the last of which are a hash: different texts stay
// different.
func shortened(text string, length int) string {
	sum := sha256.Sum256([]byte(text))
	mark := "~" + hex.EncodeToString(sum[:8])
	return strings.ToValidUTF8(text[:max(0, length-len(mark))], "") + mark
}
