package spans

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/corehour/corehour/sdk/internal/otlp"
)

const randomness = 1 << 56 // the space of OpenTelemetry's consistent sampling

// Threshold is T of OpenTelemetry's consistent probability sampling: of 2^56 random
// values those below T are rejected.
type Threshold struct {
	value uint64
	text  string // the same as a th value of W3C trace state
}

// ThresholdOf returns the threshold of a probability.
func ThresholdOf(p float64) Threshold {
	t := uint64(math.Round((1 - p) * randomness))
	return Threshold{t, thresholdText(t)}
}

// thresholdText returns a threshold in the th form: 14 hex digits without trailing zeros.
func thresholdText(t uint64) string {
	if t == 0 {
		return "0"
	}
	digits := strconv.FormatUint(t, 16)
	digits = strings.Repeat("0", max(0, 14-len(digits))) + digits
	return strings.TrimRight(digits, "0")
}

// Sampled writes the rejection threshold of a span's rate, and a random value from the range that the
// threshold accepts, for samplers further down the pipeline.
func (w *Writer) Sampled(t Threshold) {
	var state [64]byte
	b := append(state[:0], "ot=th:"...)
	b = append(b, t.text...)
	b = append(b, ";rv:"...)
	rv := t.value + rand.Uint64N(max(1, randomness-t.value))
	var digits [14]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = "0123456789abcdef"[rv&15]
		rv >>= 4
	}
	b = append(b, digits[:]...)
	w.span = otlp.Bytes(w.span, otlp.SpanTraceState, b)
}

// KeepAll marks a span that no sampler may drop: it stands for many calls, or was kept in any case.
func (w *Writer) KeepAll() { w.span = otlp.String(w.span, otlp.SpanTraceState, "ot=th:0") }
