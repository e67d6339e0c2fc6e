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

// Quantities by the kinds of span that have them. On another kind they would be
// added up by a reader of the span, so there they are removed.
var (
	wallSums = setOf(fieldWallSum, fieldWallSquares, fieldWallMax, fieldWallBins, fieldWallCounts)
	cpuSums  = setOf(fieldCPUSum, fieldCPUSquares, fieldCPUMax, fieldCPUBins, fieldCPUCounts, fieldCPUMeasured, fieldCPUWaits)

	quantitiesOf = [...]fields{
		kindCall:      setOf(fieldCPUTime, fieldCPUWaits),
		kindCounts:    setOf(fieldCalls, fieldCountsMethods, fieldCountsCalls),
		kindAggregate: setOf(fieldMeasured, fieldErrors) | wallSums | cpuSums,
		kindProcess:   setOf(fieldCPUTime, fieldCores, fieldHostCores, fieldCPULimit, fieldRSS, fieldFinal),
	}
	allQuantities = quantitiesOf[kindCall] | quantitiesOf[kindCounts] | quantitiesOf[kindAggregate] | quantitiesOf[kindProcess]

	// Texts whose length is limited and that may simply be absent.
	optionalTexts = [...]field{fieldSignature, fieldRequest, fieldGroup, fieldTier, fieldReason, fieldPriceSource, fieldStack}

	// Fields whose bad values are checked where the kind is, with reasons of
	// their own.
	judged   = allQuantities | notReserved | setOf(fieldKind, fieldCPUState, fieldStratum, fieldBasis)
	judgedOf = [...]fields{
		kindCall:      judged | setOf(fieldP, fieldCPUP),
		kindCounts:    judged,
		kindAggregate: judged | setOf(fieldP, fieldCPUP),
		kindProcess:   judged,
	}

	// What a span of another SDK may say in our namespace: correlation, which claims no
	// quantity, and what it has measured, which is checked like a measurement of ours.
	foreignMayHave = setOf(fieldSignature, fieldRequest, fieldGroup, fieldStack) | notReserved | stated
	stated         = setOf(fieldP, fieldCPUTime, fieldCPUP, fieldCPUState)
	notReserved    = setOf(fieldFunction, fieldOldNamespace, fieldOldFunction)
)

// remove removes fields from a span and from its parsed form.
func (p *requestPass) remove(attributes pcommon.Map, s fields) {
	attributes.RemoveIf(func(name string, _ pcommon.Value) bool {
		f, _ := fieldOf(name)
		return f != noField && s.has(f)
	})
	p.parsed.forget(s)
}

// misplaced returns the quantities that spans of this kind do not have.
func (r *parsedSpan) misplaced(k kind) fields { return r.seen & allQuantities &^ quantitiesOf[k] }

// bad returns the fields with bad values that have no reason of their own.
func (r *parsedSpan) bad(k kind) fields { return r.seen &^ r.good &^ judgedOf[k] }

// tidy corrects what can be wrong with the attributes of any kind of span. It
// changes nothing, and costs next to nothing, where nothing is wrong.
func (n *normalizer) tidy(attributes pcommon.Map, k kind, p *requestPass) {
	r := &p.parsed
	if r.duplicate {
		p.fault(attributeDuplicate, corrected)
		removeRepeated(attributes)
	}
	if misplaced := r.misplaced(k); misplaced != 0 {
		p.fault(attributeMisplaced, corrected)
		p.remove(attributes, misplaced)
	}
	if bad := r.bad(k); bad != 0 {
		p.fault(valueInvalid, corrected)
		p.remove(attributes, bad)
	}
	if (r.reserved || r.seen.has(fieldPriceSource)) && n.untrustedPrice(attributes, &p.requestCounts) {
		r.forget(setOf(fieldPriceSource))
	}
	n.tidyTexts(attributes, p)
	if r.seen.has(fieldBasis) && !(r.good.has(fieldBasis) && knownBasis(r.text[fieldBasis])) {
		p.fault(basisInvalid, corrected)
		p.remove(attributes, setOf(fieldBasis))
	}
}

// knownBasis reports whether a basis is one that a receiver or our SDK writes, or empty.
func knownBasis(s string) bool {
	return s == methodspan.BasisExact || slices.Contains(basisNames[:], s)
}

// removeRepeated keeps the first attribute of each field.
func removeRepeated(attributes pcommon.Map) {
	var met fields
	attributes.RemoveIf(func(name string, _ pcommon.Value) bool {
		f, _ := fieldOf(name)
		if f == noField {
			return false
		}
		if met.has(f) {
			return true
		}
		met |= 1 << f
		return false
	})
}

// repairUTF8 replaces what is no UTF-8 in the texts of a span: one such byte
// would make a whole batch unwritable further on.
func (p *requestPass) repairUTF8(attributes pcommon.Map) {
	r := &p.parsed
	attributes.Range(func(name string, v pcommon.Value) bool {
		if f, _ := fieldOf(name); f != noField && r.notUTF8.has(f) {
			r.text[f] = validUTF8(r.text[f])
			v.SetStr(r.text[f])
		}
		return true
	})
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// claimed returns the fields that a span of another SDK may not have, or not so.
func (r *parsedSpan) claimed() fields {
	return r.seen &^ (foreignMayHave & (r.good | notReserved | stated))
}

// tidyForeign removes what only our SDK may claim, and repairs texts.
func (n *normalizer) tidyForeign(attributes pcommon.Map, p *requestPass) {
	r := &p.parsed
	if r.duplicate {
		p.fault(attributeDuplicate, corrected)
		removeRepeated(attributes)
	}
	if claimed := r.claimed(); claimed != 0 || r.reserved {
		p.fault(attributeMisplaced, corrected)
		attributes.RemoveIf(func(name string, _ pcommon.Value) bool {
			f, reserved := fieldOf(name)
			return reserved && (f == noField || claimed.has(f))
		})
		r.forget(claimed)
	}
	n.tidyTexts(attributes, p)
}

// tidyTexts repairs or removes texts that cannot be stored.
func (n *normalizer) tidyTexts(attributes pcommon.Map, p *requestPass) {
	r := &p.parsed
	if r.notUTF8 != 0 {
		p.fault(notUTF8, corrected)
		p.repairUTF8(attributes)
	}
	for _, f := range optionalTexts {
		most := n.limits.MaxNameLength
		if f == fieldStack {
			most = max(most, maxStack)
		}
		if r.good.has(f) && len(r.text[f]) > most {
			p.fault(textTooLong, corrected)
			p.remove(attributes, setOf(f))
		}
	}
}

// maxStack is several times what our SDK sends.
const maxStack = 16 << 10

// repairResources does the same for the texts of resources, which every row of a
// process will have, and removes untrusted prices.
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

// shortened cuts a text that identifies processes. Different texts stay different.
func shortened(text string, length int) string {
	sum := sha256.Sum256([]byte(text))
	mark := "~" + hex.EncodeToString(sum[:8])
	return strings.ToValidUTF8(text[:max(0, length-len(mark))], "") + mark
}
