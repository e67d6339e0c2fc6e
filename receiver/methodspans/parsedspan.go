package methodspans

import (
	"math"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
)

// field is an attribute that the receiver understands.
type field uint8

const (
	fieldKind field = iota
	fieldFunction
	fieldOldNamespace
	fieldOldFunction
	fieldSignature
	fieldCaller
	fieldCPUState
	fieldStratum
	fieldBasis
	fieldRequest
	fieldGroup
	fieldStack
	fieldIDs
	fieldTier
	fieldReason
	fieldPriceSource

	fieldCPUTime
	fieldCalls
	fieldMeasured
	fieldCPUMeasured
	fieldWallSum
	fieldWallMax
	fieldCPUSum
	fieldCPUMax
	fieldCPUWaits
	fieldRSS

	fieldP
	fieldCPUP
	fieldErrors
	fieldWallSquares
	fieldCPUSquares
	fieldCores
	fieldHostCores
	fieldCPULimit
	fieldConfiguredRate
	fieldEffectiveRate

	fieldWallBins
	fieldWallCounts
	fieldCPUBins
	fieldCPUCounts
	fieldCountsMethods
	fieldCountsCalls

	fieldFinal
	fieldActivated

	fieldCount
	noField
)

// The order of the fields above gives their types.
const (
	firstWhole  = fieldCPUTime
	firstNumber = fieldP
	firstList   = fieldWallBins
	firstBool   = fieldFinal
)

// fields is a set of fields.
type fields uint64

func setOf(list ...field) fields {
	var s fields
	for _, f := range list {
		s |= 1 << f
	}
	return s
}

func (s fields) has(f field) bool { return s&(1<<f) != 0 }

const reservedPrefix = "corehour."

// fieldOf returns the field of an attribute; reserved is true if the name has the
// prefix corehour.
func fieldOf(name string) (f field, reserved bool) {
	if !strings.HasPrefix(name, "co") { // most attributes of other SDKs
		return noField, false
	}
	switch name {
	case methodspan.AttrFunction:
		return fieldFunction, false
	case methodspan.AttrOldNamespace:
		return fieldOldNamespace, false
	case methodspan.AttrOldFunction:
		return fieldOldFunction, false
	case methodspan.AttrKind:
		return fieldKind, true
	case methodspan.AttrSignature:
		return fieldSignature, true
	case methodspan.AttrCaller:
		return fieldCaller, true
	case methodspan.AttrCPUTime:
		return fieldCPUTime, true
	case methodspan.AttrCPUState:
		return fieldCPUState, true
	case methodspan.AttrP:
		return fieldP, true
	case methodspan.AttrCPUP:
		return fieldCPUP, true
	case methodspan.AttrStratum:
		return fieldStratum, true
	case methodspan.AttrWeightBasis:
		return fieldBasis, true
	case methodspan.AttrRequest:
		return fieldRequest, true
	case methodspan.AttrGroup:
		return fieldGroup, true
	case methodspan.AttrStack:
		return fieldStack, true
	case methodspan.AttrIDs:
		return fieldIDs, true
	case methodspan.AttrTier:
		return fieldTier, true
	case methodspan.AttrReason:
		return fieldReason, true
	case methodspan.AttrPriceSource:
		return fieldPriceSource, true
	case methodspan.AttrConfiguredRate:
		return fieldConfiguredRate, true
	case methodspan.AttrEffectiveRate:
		return fieldEffectiveRate, true
	case methodspan.AttrCalls:
		return fieldCalls, true
	case methodspan.AttrCountsMethods:
		return fieldCountsMethods, true
	case methodspan.AttrCountsCalls:
		return fieldCountsCalls, true
	case methodspan.AttrMeasured:
		return fieldMeasured, true
	case methodspan.AttrCPUMeasured:
		return fieldCPUMeasured, true
	case methodspan.AttrErrors:
		return fieldErrors, true
	case methodspan.AttrWallSum:
		return fieldWallSum, true
	case methodspan.AttrWallSquares:
		return fieldWallSquares, true
	case methodspan.AttrWallMax:
		return fieldWallMax, true
	case methodspan.AttrWallBins:
		return fieldWallBins, true
	case methodspan.AttrWallCounts:
		return fieldWallCounts, true
	case methodspan.AttrCPUSum:
		return fieldCPUSum, true
	case methodspan.AttrCPUSquares:
		return fieldCPUSquares, true
	case methodspan.AttrCPUMax:
		return fieldCPUMax, true
	case methodspan.AttrCPUWaits:
		return fieldCPUWaits, true
	case methodspan.AttrCPUBins:
		return fieldCPUBins, true
	case methodspan.AttrCPUCounts:
		return fieldCPUCounts, true
	case methodspan.AttrProcessCores:
		return fieldCores, true
	case methodspan.AttrHostCores:
		return fieldHostCores, true
	case methodspan.AttrProcessLimit:
		return fieldCPULimit, true
	case methodspan.AttrProcessRSS:
		return fieldRSS, true
	case methodspan.AttrActivated:
		return fieldActivated, true
	case methodspan.AttrProcessFinal:
		return fieldFinal, true
	}
	return noField, strings.HasPrefix(name, reservedPrefix)
}

// parsedSpan is the result of one pass over a span's attributes. It is reused from
// span to span: a value is valid only while its field is in good.
type parsedSpan struct {
	seen      fields // present
	good      fields // present and of the right type, finite
	notUTF8   fields // texts that are no UTF-8
	yes       fields // booleans that are true
	duplicate bool   // a field twice; the first counts, as in pcommon.Map.Get
	reserved  bool   // a corehour attribute that is no field

	text   [firstWhole]string
	whole  [firstNumber - firstWhole]int64
	number [firstList - firstNumber]float64
	list   [firstBool - firstList]pcommon.Slice

	visit func(string, pcommon.Value) bool // bound once: a method value allocates
}

func (r *parsedSpan) parse(attributes pcommon.Map) {
	r.seen, r.good, r.notUTF8, r.yes, r.duplicate, r.reserved = 0, 0, 0, 0, false, false
	attributes.Range(r.visit)
}

func (r *parsedSpan) visitAttribute(name string, v pcommon.Value) bool {
	f, reserved := fieldOf(name)
	if f == noField {
		r.reserved = r.reserved || reserved
		return true
	}
	if r.seen.has(f) {
		r.duplicate = true
		return true
	}
	r.seen |= 1 << f
	var ok bool
	switch {
	case f < firstWhole:
		if ok = v.Type() == pcommon.ValueTypeStr; ok {
			s := v.Str()
			r.text[f] = s
			if !utf8.ValidString(s) {
				r.notUTF8 |= 1 << f
			}
		}
	case f < firstNumber:
		r.whole[f-firstWhole], ok = methodspan.IntOf(v)
	case f < firstList:
		var x float64
		x, ok = methodspan.FloatOf(v)
		ok = ok && !math.IsNaN(x) && !math.IsInf(x, 0)
		r.number[f-firstNumber] = x
	case f < firstBool:
		if ok = v.Type() == pcommon.ValueTypeSlice; ok {
			r.list[f-firstList] = v.Slice()
		}
	default:
		if ok = v.Type() == pcommon.ValueTypeBool; ok && v.Bool() {
			r.yes |= 1 << f
		}
	}
	if ok {
		r.good |= 1 << f
	}
	return true
}

// The accessors give zero where the field is absent or bad.

func (r *parsedSpan) textOf(f field) string {
	if !r.good.has(f) {
		return ""
	}
	return r.text[f]
}

func (r *parsedSpan) wholeOf(f field) int64 {
	if !r.good.has(f) {
		return 0
	}
	return r.whole[f-firstWhole]
}

func (r *parsedSpan) numberOf(f field) float64 {
	if !r.good.has(f) {
		return 0
	}
	return r.number[f-firstNumber]
}

func (r *parsedSpan) boolOf(f field) bool { return r.good.has(f) && r.yes.has(f) }

// forget records that fields were removed from the span.
func (r *parsedSpan) forget(s fields) {
	r.seen &^= s
	r.good &^= s
}

// release drops references into the request.
func (r *parsedSpan) release() {
	clear(r.text[:])
	clear(r.list[:])
}
