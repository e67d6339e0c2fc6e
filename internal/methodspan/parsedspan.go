package methodspan

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Field is a span attribute that has a meaning in this package.
type Field uint8

// The fields, grouped by type: texts, whole numbers, numbers, lists and booleans.
const (
	FieldKind Field = iota
	FieldFunction
	FieldOldNamespace
	FieldOldFunction
	FieldSignature
	FieldCaller
	FieldCPUState
	FieldStratum
	FieldWeightBasis
	FieldRequest
	FieldGroup
	FieldStack
	FieldIDs
	FieldTier
	FieldReason
	FieldPriceSource

	FieldCPUTime
	FieldMeasured
	FieldCPUMeasured
	FieldWallSum
	FieldWallMax
	FieldCPUSum
	FieldCPUMax
	FieldCPUWaits
	FieldRSS

	FieldP
	FieldCPUP
	FieldCalls
	FieldErrors
	FieldWallSquares
	FieldCPUSquares
	FieldCores
	FieldHostCores
	FieldCPULimit
	FieldConfiguredRate
	FieldEffectiveRate
	FieldPrice

	FieldWallBins
	FieldWallCounts
	FieldCPUBins
	FieldCPUCounts
	FieldCountsMethods
	FieldCountsCalls

	FieldFinal
	FieldActivated

	// NoField stands for every other attribute.
	NoField
)

// The first field of each type but text.
const (
	firstWhole  = FieldCPUTime
	firstNumber = FieldP
	firstList   = FieldWallBins
	firstBool   = FieldFinal
)

// FieldType is the type of a field's valid values.
type FieldType uint8

// The types of fields.
const (
	TypeText   FieldType = iota
	TypeWhole            // an integer, or a double without a fraction
	TypeNumber           // an integer or a finite double
	TypeList
	TypeBool
)

// Type returns the type of the field's valid values.
func (f Field) Type() FieldType {
	switch {
	case f < firstWhole:
		return TypeText
	case f < firstNumber:
		return TypeWhole
	case f < firstList:
		return TypeNumber
	case f < firstBool:
		return TypeList
	}
	return TypeBool
}

// Fields is a set of fields.
type Fields uint64

// AllFields is the set of all fields.
const AllFields Fields = 1<<NoField - 1

// textFields is the set of fields of TypeText.
const textFields Fields = 1<<firstWhole - 1

// FieldsOf returns the set of the fields in list.
func FieldsOf(list ...Field) Fields {
	var s Fields
	for _, f := range list {
		s |= 1 << f
	}
	return s
}

// Has reports whether f is in the set.
func (s Fields) Has(f Field) bool { return s&(1<<(f&63)) != 0 }

const (
	reservedPrefix = "corehour."
	commonPrefix   = "co" // of all fields, and of few attributes of other SDKs
)

// FieldOf returns the field that an attribute name stands for, else NoField. reserved
// reports whether the name has the prefix corehour.
func FieldOf(name string) (f Field, reserved bool) {
	if !strings.HasPrefix(name, commonPrefix) {
		return NoField, false
	}
	switch name {
	case AttrFunction:
		return FieldFunction, false
	case AttrOldNamespace:
		return FieldOldNamespace, false
	case AttrOldFunction:
		return FieldOldFunction, false
	case AttrKind:
		return FieldKind, true
	case AttrSignature:
		return FieldSignature, true
	case AttrCaller:
		return FieldCaller, true
	case AttrCPUTime:
		return FieldCPUTime, true
	case AttrCPUState:
		return FieldCPUState, true
	case AttrP:
		return FieldP, true
	case AttrCPUP:
		return FieldCPUP, true
	case AttrStratum:
		return FieldStratum, true
	case AttrWeightBasis:
		return FieldWeightBasis, true
	case AttrRequest:
		return FieldRequest, true
	case AttrGroup:
		return FieldGroup, true
	case AttrStack:
		return FieldStack, true
	case AttrIDs:
		return FieldIDs, true
	case AttrTier:
		return FieldTier, true
	case AttrReason:
		return FieldReason, true
	case AttrPrice:
		return FieldPrice, true
	case AttrPriceSource:
		return FieldPriceSource, true
	case AttrConfiguredRate:
		return FieldConfiguredRate, true
	case AttrEffectiveRate:
		return FieldEffectiveRate, true
	case AttrCalls:
		return FieldCalls, true
	case AttrCountsMethods:
		return FieldCountsMethods, true
	case AttrCountsCalls:
		return FieldCountsCalls, true
	case AttrMeasured:
		return FieldMeasured, true
	case AttrCPUMeasured:
		return FieldCPUMeasured, true
	case AttrErrors:
		return FieldErrors, true
	case AttrWallSum:
		return FieldWallSum, true
	case AttrWallSquares:
		return FieldWallSquares, true
	case AttrWallMax:
		return FieldWallMax, true
	case AttrWallBins:
		return FieldWallBins, true
	case AttrWallCounts:
		return FieldWallCounts, true
	case AttrCPUSum:
		return FieldCPUSum, true
	case AttrCPUSquares:
		return FieldCPUSquares, true
	case AttrCPUMax:
		return FieldCPUMax, true
	case AttrCPUWaits:
		return FieldCPUWaits, true
	case AttrCPUBins:
		return FieldCPUBins, true
	case AttrCPUCounts:
		return FieldCPUCounts, true
	case AttrProcessCores:
		return FieldCores, true
	case AttrHostCores:
		return FieldHostCores, true
	case AttrProcessLimit:
		return FieldCPULimit, true
	case AttrProcessRSS:
		return FieldRSS, true
	case AttrActivated:
		return FieldActivated, true
	case AttrProcessFinal:
		return FieldFinal, true
	}
	return NoField, strings.HasPrefix(name, reservedPrefix)
}

// ParsedSpan holds the fields of one span, read in one pass over its attributes. Reuse it
// from span to span: no field has to be cleared in between. Of a repeated attribute the
// first value counts, as in pcommon.Map.Get. Lists are not copied.
type ParsedSpan struct {
	Seen      Fields // present in the span and selected by Parse
	Good      Fields // present with a value of the field's type
	NotUTF8   Fields // texts that are not valid UTF-8, if CheckUTF8 is set
	CheckUTF8 bool   // set by the user, before Parse
	Duplicate bool   // an attribute of a field occurs twice
	Reserved  bool   // an attribute with the prefix corehour. is no field

	yes    Fields // booleans that are true
	text   [firstWhole]string
	whole  [firstNumber - firstWhole]int64
	number [firstList - firstNumber]float64
	list   [firstBool - firstList]pcommon.Slice

	// previous holds the names of the previous span. Spans of one sender have the same
	// attributes in the same order, and a comparison is cheaper than FieldOf.
	previous [16]struct {
		name  string
		field Field
	}
}

// Parse reads the fields in want and ignores all others.
func (s *ParsedSpan) Parse(attributes pcommon.Map, want Fields) {
	var seen, good, notUTF8, yes Fields
	s.Duplicate, s.Reserved = false, false
	i := -1
	for name, v := range attributes.All() {
		i++
		var f Field
		if at := &s.previous[i%len(s.previous)]; at.name == name {
			f = at.field
		} else if f = fieldOrReserved(name); i < len(s.previous) {
			at.name, at.field = name, f
		}
		if f >= NoField {
			s.Reserved = s.Reserved || f == reservedName
			continue
		}
		bit := Fields(1) << (f & 63)
		if want&bit == 0 {
			continue
		}
		if seen&bit != 0 {
			s.Duplicate = true
			continue
		}
		seen |= bit
		var ok bool
		switch {
		case f < firstWhole:
			if ok = v.Type() == pcommon.ValueTypeStr; ok {
				text := v.Str()
				s.text[f] = text
				if s.CheckUTF8 && !utf8.ValidString(text) {
					notUTF8 |= bit
				}
			}
		case f < firstNumber:
			s.whole[f-firstWhole], ok = IntOf(v)
		case f < firstList:
			s.number[f-firstNumber], ok = finiteOf(v)
		case f < firstBool:
			if ok = v.Type() == pcommon.ValueTypeSlice; ok {
				s.list[f-firstList] = v.Slice()
			}
		default:
			if ok = v.Type() == pcommon.ValueTypeBool; ok && v.Bool() {
				yes |= bit
			}
		}
		if ok {
			good |= bit
		}
	}
	s.Seen, s.Good, s.NotUTF8, s.yes = seen, good, notUTF8, yes
}

// reservedName stands for a name with the prefix corehour. that is no field.
const reservedName = NoField + 1

func fieldOrReserved(name string) Field {
	f, reserved := FieldOf(name)
	if f == NoField && reserved {
		return reservedName
	}
	return f
}

// finiteOf returns a number that is neither NaN nor infinite.
func finiteOf(v pcommon.Value) (float64, bool) {
	if v.Type() == pcommon.ValueTypeInt {
		return float64(v.Int()), true
	}
	x := v.Double() // 0 if it is of another type
	return x, v.Type() == pcommon.ValueTypeDouble && x-x == 0
}

// Text returns a field of TypeText, "" if it is absent or bad.
func (s *ParsedSpan) Text(f Field) string {
	if !s.Good.Has(f) {
		return ""
	}
	return s.text[f]
}

// Whole returns a field of TypeWhole, 0 if it is absent or bad.
func (s *ParsedSpan) Whole(f Field) int64 {
	if !s.Good.Has(f) {
		return 0
	}
	return s.whole[f-firstWhole]
}

// Number returns a field of TypeNumber, 0 if it is absent or bad.
func (s *ParsedSpan) Number(f Field) float64 {
	if !s.Good.Has(f) {
		return 0
	}
	return s.number[f-firstNumber]
}

// List returns a field of TypeList, the zero Slice if it is absent or bad.
func (s *ParsedSpan) List(f Field) pcommon.Slice {
	if !s.Good.Has(f) {
		return pcommon.Slice{}
	}
	return s.list[f-firstList]
}

// Bool returns a field of TypeBool, false if it is absent or bad.
func (s *ParsedSpan) Bool(f Field) bool { return s.Good.Has(f) && s.yes.Has(f) }

// SetText replaces a text that was parsed.
func (s *ParsedSpan) SetText(f Field, text string) { s.text[f] = text }

// SetNumber adds a number to the parsed fields.
func (s *ParsedSpan) SetNumber(f Field, x float64) {
	s.Seen |= 1 << f
	s.Good |= 1 << f
	s.number[f-firstNumber] = x
}

// Forget removes fields, which have been removed from the span.
func (s *ParsedSpan) Forget(gone Fields) {
	s.Seen &^= gone
	s.Good &^= gone
}

// Release drops all references into the request.
func (s *ParsedSpan) Release() {
	clear(s.text[:])
	clear(s.list[:])
	clear(s.previous[:])
}

// Identity is a method as a span names it: class and method, or a fully qualified name in
// Class and no Method.
type Identity struct{ Class, Method string }

// Identity returns the method of a parsed span: code.function.name, else the older pair
// code.namespace and code.function, else the span's name with the name of its scope as the
// class. It returns false if the span has none of the three.
func (s *ParsedSpan) Identity(span ptrace.Span, scope string) (Identity, bool) {
	if name := s.Text(FieldFunction); name != "" {
		return Identity{Class: name}, true
	}
	if method := s.Text(FieldOldFunction); method != "" {
		return Identity{s.Text(FieldOldNamespace), method}, true
	}
	if name := span.Name(); name != "" {
		return Identity{scope, name}, true
	}
	return Identity{}, false
}

// Function returns class and method, parsed if the name is qualified.
func (i Identity) Function() Function {
	if i.Method == "" {
		return ParseFunction(i.Class)
	}
	return Function{Class: i.Class, Method: i.Method}
}
