package explain

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/test/golden"
)

func number(x float64) *float64 { return &x }

const hostile = "a\x1b[2J|<b>\n\u202e=1"

// states returns explanations of a method in each state, and of a method with a hostile name.
func states() map[string][]rates.Explanation {
	of := func(method string, state rates.MethodState, reason string) rates.Explanation {
		return rates.Explanation{Service: "shop", Environment: "prod", Version: "1.4.2", Method: method, State: state,
			Strategy: "variance", Mode: "sample", Reason: reason, RateAsked: 1}
	}
	codec := of("shop/codec.Encode", rates.Known, "its calls differ little and are many: 0.05% of them are enough")
	codec.Namespace, codec.Tier, codec.Class, codec.Rule, codec.Score = "retail", "inner", "inner", "methods[3] shop/codec.*", "hotspot"
	codec.CallsPerSecond, codec.RecordsPerSecond, codec.RateAsked, codec.RateInForce = 1_234_567, 617.3, 0.0005, number(0.001)
	codec.EntryShare, codec.MeanCPUNs, codec.Spread, codec.SpreadOf = number(0), number(812), number(0.71), "CPU time"
	codec.ErrorOfDay, codec.ErrorOfDayDouble = number(0.00012), number(0.000085)
	old := codec
	old.Version, old.RateInForce, old.CallsPerSecond = "1.4.1", nil, 3.5
	rare := of("shop/report.Print", rates.Rare, "kept whole until more is known")
	rare.CallsPerSecond, rare.RecordsPerSecond, rare.MeanWallNs, rare.Shadow = 0.0031, 0.0031, number(2.5e6), true
	off := of("shop/log.Debug", rates.Off, "the method file says off")
	off.Mode, off.RateAsked, off.Rule, off.CallsPerSecond = "off", 0, "methods[0] shop/log.*", 90
	crowd := of("shop/gen.F1", rates.Overflow, "the table of 10000 methods is full")
	crowd.RateAsked = 0.01
	return map[string][]rates.Explanation{
		"shop/codec.Encode":     {codec, old},
		"shop/report.Print":     {rare},
		"shop/log.Debug":        {off},
		"shop/gen.F1":           {crowd},
		"shop/cart.(*Cart).Pay": {of("shop/cart.(*Cart).Pay", rates.Unseen, "a new method is kept whole at first")},
		hostile:                 {of(hostile, rates.Known, "\x1b]0;x\a")},
	}
}

// written returns an answer in a format, with lines of any length.
func written(t *testing.T, a *Answer, format output.Format) string {
	t.Helper()
	var text bytes.Buffer
	d := a.Document(time.UTC)
	d.Wide = true
	require.NoError(t, d.Write(&text, format))
	return text.String()
}

func TestDocument_Sampler(t *testing.T) {
	all := states()
	var a Answer
	a.Explanations = &Explanations{More: 7}
	for _, method := range []string{"shop/codec.Encode", "shop/report.Print", "shop/log.Debug", "shop/gen.F1", "shop/cart.(*Cart).Pay"} {
		a.Explanations.Explanations = append(a.Explanations.Explanations, all[method]...)
	}
	golden.Check(t, "sampler.txt", written(t, &a, output.Text))
	golden.Check(t, "sampler.md", written(t, &a, output.MarkdownPage))
	a.Explanations = &Explanations{Explanations: all["shop/codec.Encode"][:1]}
	golden.Check(t, "sampler.json", written(t, &a, output.JSON))
}

func TestDocument_EscapesNames(t *testing.T) {
	a := Answer{Explanations: &Explanations{Explanations: states()[hostile]}}
	for _, format := range []output.Format{output.Text, output.JSON, output.MarkdownPage} {
		text := written(t, &a, format)
		if i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && unicode.In(c, unicode.C) }); i >= 0 {
			t.Errorf("format %v: %q reaches the terminal", format, text[max(0, i-10):])
		}
	}
}
