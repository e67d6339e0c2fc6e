package methodspan

import (
	"math"
	"strings"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// ValidProbability reports whether p lies in (0, 1]; NaN does not.
func ValidProbability(p float64) bool { return p > 0 && p <= 1 }

// ThresholdOf returns the rejection threshold of a probability: a call is kept iff
// threshold <= R, R uniform in [0, 2^56). If p is not a probability, the threshold keeps all.
func ThresholdOf(p float64) sampling.Threshold {
	if !ValidProbability(p) || p == 1 {
		return sampling.AlwaysSampleThreshold
	}
	th, err := sampling.ProbabilityToThreshold(math.Max(p, sampling.MinSamplingProbability))
	if err != nil { // out of range: excluded above
		return sampling.AlwaysSampleThreshold
	}
	return th
}

// OT holds the sampling values of the `ot` member of a trace state.
type OT struct {
	Threshold     sampling.Threshold
	HasThreshold  bool
	Randomness    sampling.Randomness
	HasRandomness bool
	// LegacyP and LegacyR are the raw p and r of OpenTelemetry's older form.
	LegacyP, LegacyR string
}

// ReadOT parses the `ot` member. It does not allocate for `ot=th:..;rv:..` alone, the form
// that the corehour SDK writes on every measurement.
func ReadOT(traceState string) (OT, error) {
	if ot, ok := readPlainOT(traceState); ok {
		return ot, nil
	}
	w3c, err := sampling.NewW3CTraceState(traceState)
	if err != nil {
		return OT{}, err
	}
	value := w3c.OTelValue()
	var ot OT
	ot.Threshold, ot.HasThreshold = value.TValueThreshold()
	ot.Randomness, ot.HasRandomness = value.RValueRandomness()
	for _, extra := range value.ExtraValues() {
		switch extra.Key {
		case "p":
			ot.LegacyP = extra.Value
		case "r":
			ot.LegacyR = extra.Value
		}
	}
	return ot, nil
}

func readPlainOT(traceState string) (ot OT, ok bool) {
	if traceState == "" {
		return OT{}, true
	}
	rest, ok := strings.CutPrefix(traceState, "ot=th:")
	if !ok {
		return OT{}, false
	}
	th, rv, ok := strings.Cut(rest, ";rv:")
	if !ok || len(rv) != sampling.NumHexDigits || len(th) > sampling.NumHexDigits {
		return OT{}, false
	}
	t, okT := parseHex(th)
	r, okR := parseHex(rv)
	if !okT || !okR || th == "" {
		return OT{}, false
	}
	t <<= 4 * uint(sampling.NumHexDigits-len(th)) // trailing zeros are left out
	var errT, errR error
	ot.Threshold, errT = sampling.UnsignedToThreshold(t)
	ot.Randomness, errR = sampling.UnsignedToRandomness(r)
	ot.HasThreshold, ot.HasRandomness = true, true
	return ot, errT == nil && errR == nil
}

func parseHex(s string) (x uint64, ok bool) {
	bad := byte(0)
	for i := 0; i < len(s); i++ {
		digit := hexDigits[s[i]]
		bad |= digit
		x = x<<4 | uint64(digit&0xf)
	}
	return x, bad&notHex == 0
}

const notHex = 0x80

// hexDigits holds the values of lower-case hex digits, notHex for other bytes.
var hexDigits = func() (values [256]byte) {
	for i := range values {
		values[i] = notHex
	}
	for i, c := range "0123456789abcdef" {
		values[c] = byte(i)
	}
	return values
}()

// SetThreshold writes th, and rv unless it is nil, into the `ot` member of a span's trace
// state and keeps all other members. It replaces a trace state that cannot be parsed.
func SetThreshold(span ptrace.Span, th sampling.Threshold, rv *sampling.Randomness) {
	state := span.TraceState()
	w3c, err := sampling.NewW3CTraceState(state.AsRaw())
	if err != nil {
		w3c, _ = sampling.NewW3CTraceState("")
	}
	value := w3c.OTelValue()
	// Without th the update is a plain assignment: the caller has already composed
	// the thresholds.
	value.ClearTValue()
	if err := value.UpdateTValueWithSampling(th); err != nil {
		return // impossible on a cleared value
	}
	if rv != nil {
		value.SetRValue(*rv)
	}
	var b strings.Builder
	if err := w3c.Serialize(&b); err == nil {
		state.FromRaw(b.String())
	}
}

// ClearThreshold removes th from the `ot` member. Callers use it if th contradicts rv.
func ClearThreshold(span ptrace.Span) {
	state := span.TraceState()
	w3c, err := sampling.NewW3CTraceState(state.AsRaw())
	if err != nil {
		return
	}
	w3c.OTelValue().ClearTValue()
	var b strings.Builder
	if err := w3c.Serialize(&b); err == nil {
		state.FromRaw(b.String())
	}
}

// FloatOf returns the number in v, an int or a double, and false for other types.
func FloatOf(v pcommon.Value) (float64, bool) {
	switch v.Type() {
	case pcommon.ValueTypeDouble:
		return v.Double(), true
	case pcommon.ValueTypeInt:
		return float64(v.Int()), true
	default:
		return 0, false
	}
}

// IntOf returns the whole number in v, an int or a double without a fraction below 2^53, and false for
// other values.
func IntOf(v pcommon.Value) (int64, bool) {
	switch v.Type() {
	case pcommon.ValueTypeInt:
		return v.Int(), true
	case pcommon.ValueTypeDouble:
		d := v.Double()
		if d != math.Trunc(d) || math.Abs(d) >= MostMeasured {
			return 0, false
		}
		return int64(d), true
	default:
		return 0, false
	}
}
