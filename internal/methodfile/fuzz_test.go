package methodfile_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// Any file: no panic, warnings that can be printed on one line, and rules within their bounds.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"version": 1, "defaults": {"rate": 0.1}, "tiers": {"t": {"max": 0.5}}, "methods": [{"match": "a*", "tier": "t"}]}`,
		`{"version": 1, "methods": [{"class": "a.b", "method": "c", "signature": "()", "rate": 1e-9, "mode": "off"}]}`,
		`{"version": 1, "methods": [{"class": "a", "method": "*"}, {"class": "a", "method": "*"}, [], null, {"x": {}}]}`,
		`{"version": 1, "version": 1, "methods": [{"match": "\u001b*", "min": 1, "max": 0.1, "\r\n": 1}]}`,
		"{\"version\": 1,\n\"tiers\": {\"a\": 1, \"a\": {}}, \"defaults\": {\"tier\": \"a\", \"min\": 0.5}}",
		`{`, `[1,2`, `null`, "\xff", `{"version":1}x`, `"\ud800"`,
	} {
		f.Add(seed, "a.b.c")
	}
	compiled := schema(f)
	f.Fuzz(func(t *testing.T, text, name string) {
		file, warnings, err := methodfile.Parse([]byte(text))
		if err != nil {
			assert.Nil(t, file)
			assert.True(t, printable(err.Error()), "%q", err)
			return
		}
		for _, w := range warnings {
			assert.True(t, printable(w.Error()), "%q", w.Error())
		}
		rule := &file.Default
		if found, ok := file.Lookup(methodspan.ParseFunction(name)); ok {
			rule = found
		}
		require.True(t, rule.Rate == 0 || rule.Rate >= methodfile.MinRate && rule.Rate <= 1)
		require.True(t, 0 <= rule.Min && rule.Min <= rule.Max && rule.Max <= 1)
		require.True(t, rule.Rate == 0 || rule.Min <= rule.Rate && rule.Rate <= rule.Max)
		if len(warnings) == 0 && !hugeExponent.MatchString(text) {
			require.NoError(t, allows(t, compiled, text), "the schema refuses a file that the parser accepts")
		}
	})
}

// The schema library expands such numbers, which takes minutes.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) })
}
