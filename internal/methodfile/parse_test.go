package methodfile

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
)

func parse(t *testing.T, text string) (*File, []string) {
	t.Helper()
	f, warnings, err := Parse([]byte(text))
	require.NoError(t, err)
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.Error())
	}
	return f, lines
}

func TestParse_UnusableFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", `must hold a JSON object, found an empty file`},
		{"no JSON", "{\n  \"version\": 1,\n  rate\n}", `3:3: not JSON: invalid character 'r' looking for beginning of object key string`},
		{"cut off", "{\n  \"version\": 1,\n  \"methods\": [", `3:15: not JSON: unexpected end of JSON input`},
		{"two values", "{\"version\": 1}\n{}", `2:1: not JSON: invalid character '{' after top-level value`},
		{"trailing comma", "{\"version\": 1,}", `1:15: not JSON: invalid character '}' looking for beginning of object key string`},
		{"byte order mark", "\xEF\xBB\xBF{}", `1:1: must not start with a byte order mark: save the file as plain UTF-8`},
		{"not UTF-8", "{\n\"a\xff\": 1}", `2:3: must be UTF-8, found the byte 0xff`},
		{"another type", `[]`, `must hold a JSON object, found a list`},
		{"no version", `{"methods": []}`, `"version" must be 1, found none: add "version": 1`},
		{"another version", "{\n\"version\": 2}", `line 2: "version" must be 1, found 2`},
		{"version as text", `{"version": "1"}`, `line 1: "version" must be 1, found "1"`},
		{"too deep", `{"version": 1, "methods": ` + strings.Repeat("[", 17) + strings.Repeat("]", 17) + `}`,
			`line 1: must not be nested deeper than 16 levels`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, warnings, err := Parse([]byte(c.text))
			assert.EqualError(t, err, c.want)
			assert.Nil(t, f)
			assert.Empty(t, warnings)
		})
	}
}

// A faulty entry is left out alone: the entry after it is in force.
func TestParse_FaultyEntries(t *testing.T) {
	for _, c := range []struct{ name, entry, want string }{
		{"rate above 1", `{"match": "a*", "rate": 5}`,
			`methods[0].rate (line 3): must be between 1e-09 and 1, found 5: rates are shares, 5% is 0.05`},
		{"rate 0", `{"match": "a*", "rate": 0}`,
			`methods[0].rate (line 3): must be between 1e-09 and 1, found 0: to time no calls of a method write "mode": "off"`},
		{"rate beyond floats", `{"match": "a*", "rate": 1e999}`, `methods[0].rate (line 3): must be between 1e-09 and 1, found 1e999`},
		{"rate in quotes", `{"match": "a*", "rate": "0.5"}`,
			`methods[0].rate (line 3): must be a number, found "0.5": remove the quotes`},
		{"cpu rate negative", `{"match": "a*", "cpu_rate": -1}`, `methods[0].cpu_rate (line 3): must be between 0 and 1, found -1`},
		{"null", `{"match": "a*", "rate": null}`, `methods[0].rate (line 3): must be a number, found null`},
		{"unknown field", `{"match": "a*", "rte": 1}`, `methods[0] (line 3): unknown key "rte": did you mean "rate"?`},
		{"control characters", `{"match": "a*", "\u001b[31m": 1}`,
			`methods[0] (line 3): unknown key "\x1b[31m": known are "blocking", "class", "cpu_rate", "match", "max", "method", "min", "mode", "rate", "scope", "signature", "stack", "tail", "tier"`},
		{"said twice", `{"match": "a*", "rate": 1, "rate": 0.5}`, `methods[0] (line 3): duplicate key "rate": first in line 3`},
		{"unknown mode", `{"match": "a*", "mode": "sampel"}`,
			`methods[0].mode (line 3): must be one of ["sample" "aggregate" "off"], found "sampel": did you mean "sample"?`},
		{"unknown tier", `{"match": "a*", "tier": "iner"}`, `methods[0].tier (line 3): must be a key of ` + "`tiers`" + `, found "iner": did you mean "inner"?`},
		{"unknown scope", `{"match": "a*", "scope": "all"}`,
			`methods[0].scope (line 3): must be one of ["lazy" "eager" "total"], found "all": known are "eager", "lazy", "total"`},
		{"truth in quotes", `{"match": "a*", "blocking": "true"}`, `methods[0].blocking (line 3): must be true or false, found "true": remove the quotes`},
		{"nothing named", `{"rate": 1}`, "methods[0] (line 3): must have `class` and `method`, or `match`, found neither"},
		{"no class", `{"method": "Total"}`, "methods[0] (line 3): missing key \"class\": " +
			`a function outside any class has "class": ""`},
		{"no method", `{"class": "a"}`, "methods[0] (line 3): missing key \"method\": " +
			`all methods of the class are "method": "*"`},
		{"named twice", `{"class": "a", "method": "b", "match": "a*"}`,
			"methods[0].match (line 3): must not be combined with `class`, `method` or `signature`, found \"a*\": keep one of the two"},
		{"signature of all", `{"class": "a", "method": "*", "signature": "()"}`,
			"methods[0].signature (line 3): must not be combined with `\"method\": \"*\"`, found \"()\""},
		{"star in the middle", `{"match": "a*b*"}`, "methods[0].match (line 3): must have `*` only at its end, found \"a*b*\""},
		{"no star", `{"match": "a.b"}`, "methods[0].match (line 3): must end in `*`, found \"a.b\": name one method by `class` and `method`, or write \"a.b*\""},
		{"empty match", `{"match": ""}`, `methods[0].match (line 3): must not be empty, found ""`},
		{"pointer receiver", `{"class": "shop/cart.(*Cart)", "method": "Total"}`,
			"methods[0].class (line 3): must have neither `(*` nor `[...]`, found \"shop/cart.(*Cart)\": write \"shop/cart.Cart\""},
		{"type arguments", `{"class": "shop/cart.(*List[...])", "method": "Len"}`,
			"methods[0].class (line 3): must have neither `(*` nor `[...]`, found \"shop/cart.(*List[...])\": write \"shop/cart.List\""},
		{"pointer in pattern", `{"match": "shop/cart.(*Cart)*"}`,
			"methods[0].match (line 3): must have neither `(*` nor `[...]`, found \"shop/cart.(*Cart)*\": write \"shop/cart.Cart*\""},
		{"bounds crossed", `{"match": "a*", "min": 0.5, "max": 0.1}`, `methods[0] (line 3): must hold min <= rate <= max, found min 0.5, max 0.1`},
		{"rate out of bounds", `{"match": "a*", "rate": 0.5, "max": 0.1}`, `methods[0] (line 3): must hold min <= rate <= max, found rate 0.5, max 0.1`},
		{"bounds crossed by the tier", `{"match": "a*", "min": 0.5, "tier": "inner"}`,
			`methods[0] (line 3): must hold min <= rate <= max, with the values of its tier and the defaults, found min 0.5, rate 0.001, max 0.1`},
		{"rate out of the tier's bounds", `{"match": "a*", "rate": 0.5, "tier": "inner"}`,
			`methods[0] (line 3): must hold min <= rate <= max, with the values of its tier and the defaults, found rate 0.5, max 0.1`},
		{"too long", `{"match": "` + strings.Repeat("a", 1025) + `*"}`, `methods[0].match (line 3): must be at most 1024 characters, found 1026`},
		{"no object", `"shop/*"`, `methods[0] (line 3): must be an object, found "shop/*"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, warnings := parse(t, "{\"version\": 1, \"tiers\": {\"inner\": {\"rate\": 0.001, \"max\": 0.1}},\n\"methods\": [\n"+c.entry+",\n"+
				`{"class": "good", "method": "one", "rate": 0.25}]}`)
			assert.Equal(t, []string{c.want}, warnings)
			assert.Equal(t, 1, f.Len())
			rule, ok := f.Lookup(methodspan.Function{Class: "good", Method: "one"})
			require.True(t, ok)
			assert.Equal(t, 0.25, rule.Rate)
			assert.Equal(t, 1, rule.Index)
		})
	}
}

func TestParse_AllFaultsReported(t *testing.T) {
	_, warnings := parse(t, `{
  "version": 1,
  "method": [],
  "defaults": {"rate": 2, "scope": "lazy", "tier": "x"},
  "tiers": {"a": {"rat": 1, "mode": "offf"}, "": {}, "b": 7},
  "methods": [{"match": "a*", "rate": 3, "mode": "x"}, 1, {"class": "c", "method": "m", "tail": 1}]
}`)
	assert.Equal(t, []string{
		`line 3: unknown key "method": did you mean "methods"?`,
		`tiers.a (line 5): unknown key "rat": did you mean "rate"?`,
		`tiers.a.mode (line 5): must be one of ["sample" "aggregate" "off"], found "offf": did you mean "off"?`,
		`tiers."" (line 5): a tier's name must have 1 to 64 characters, found 0`,
		`tiers.b (line 5): must be an object, found 7`,
		`defaults.rate (line 4): must be between 1e-09 and 1, found 2: rates are shares, 2% is 0.02`,
		`defaults (line 4): unknown key "scope": known are "cpu_rate", "max", "min", "mode", "rate", "stack", "tail", "tier"`,
		"defaults.tier (line 4): must be a key of `tiers`, found \"x\": known are \"a\", \"b\"",
		`methods[0].rate (line 6): must be between 1e-09 and 1, found 3: rates are shares, 3% is 0.03`,
		`methods[0].mode (line 6): must be one of ["sample" "aggregate" "off"], found "x": known are "aggregate", "off", "sample"`,
		`methods[1] (line 6): must be an object, found 1`,
		`methods[2].tail (line 6): must be true or false, found 1`,
	}, warnings)
}

// A part of a wrong type does not affect the other parts.
func TestParse_WrongTypesOfParts(t *testing.T) {
	f, warnings := parse(t, `{"version": 1, "defaults": [], "tiers": 3, "methods": {}}`)
	assert.Equal(t, []string{
		`tiers (line 1): must be an object, found 3`,
		`defaults (line 1): must be an object, found a list`,
		`methods (line 1): must be a list, found an object`,
	}, warnings)
	assert.Equal(t, 0, f.Len())
	assert.True(t, math.IsNaN(f.Default.CPURate))
	f.Default.CPURate = 0 // NaN equals nothing
	assert.Equal(t, Rule{Index: -1, Reason: "defaults", Max: 1, Mode: ModeSample}, f.Default)
}

func TestParse_Scope(t *testing.T) {
	f, warnings := parse(t, `{"version": 1, "methods": [
    {"match": "a*"},
    {"match": "b*", "scope": "lazy", "rate": 0.3},
    {"match": "c*", "scope": "total"},
    {"match": "d*", "scope": "lazy"}
  ]}`)
	assert.Empty(t, warnings)
	assert.Equal(t, 4, f.Len(), "their entries are in force")
	for name, want := range map[string]string{"a.b": "", "b.b": ScopeLazy, "c.b": ScopeTotal} {
		rule, _ := f.Lookup(methodspan.ParseFunction(name))
		assert.Equal(t, want, rule.Scope, name)
	}
}

func TestParse_Inheritance(t *testing.T) {
	f, warnings := parse(t, `{"version": 1,
  "defaults": {"rate": 0.2, "cpu_rate": 0.5, "mode": "aggregate", "tier": "mid"},
  "tiers": {"mid": {"max": 0.5}, "inner": {"rate": 0.001, "cpu_rate": 0, "tail": true, "stack": true, "mode": "sample"}},
  "methods": [
    {"class": "c", "method": "own", "tier": "inner", "rate": 0.3, "tail": false, "stack": false, "blocking": true},
    {"class": "c", "method": "tier", "tier": "inner"},
    {"class": "c", "method": "default"},
    {"class": "c", "method": "off", "mode": "off"}
  ]}`)
	assert.Empty(t, warnings)
	assert.Equal(t, []string{"inner", "mid"}, f.Tiers)
	get := func(method string) Rule {
		rule, ok := f.Lookup(methodspan.Function{Class: "c", Method: method})
		require.True(t, ok, method)
		r := *rule
		r.class, r.method = "", ""
		return r
	}
	assert.Equal(t, Rule{Index: 0, Reason: "methods[0] c.own", Tier: "inner", Rate: 0.3, Max: 0.5, Explicit: true, CPURate: 0, Mode: ModeSample,
		Blocking: true}, get("own"))
	assert.Equal(t, Rule{Index: 1, Reason: "methods[1] c.tier", Tier: "inner", Rate: 0.001, Max: 0.5, Explicit: true, Mode: ModeSample, Tail: true, Stack: true}, get("tier"))
	assert.Equal(t, Rule{Index: 2, Reason: "methods[2] c.default", Tier: "mid", Rate: 0.2, Max: 0.5, CPURate: 0.5, Mode: ModeAggregate}, get("default"))
	assert.Equal(t, ModeOff, get("off").Mode)
	assert.Equal(t, "mid", f.Default.Tier)
	assert.Equal(t, 0.2, f.Default.Rate)
}

// A rate with bounds is the start of an adaptive rate; without bounds it is fixed.
func TestRule_Pinned(t *testing.T) {
	f, warnings := parse(t, `{"version": 1,
	  "defaults": {"rate": 0.5, "max": 0.9},
	  "tiers": {"fixed": {"rate": 0.1}, "bounded": {"max": 0.2}},
	  "methods": [
	    {"class": "a", "method": "own", "rate": 0.3},
	    {"class": "a", "method": "bounded", "rate": 0.3, "min": 0.1},
	    {"class": "a", "method": "tier", "tier": "fixed"},
	    {"class": "a", "method": "both", "tier": "bounded", "rate": 0.1},
	    {"class": "a", "method": "default", "blocking": true},
	    {"class": "a", "method": "off", "mode": "off"},
	    {"class": "a", "method": "all", "mode": "aggregate"}
	  ]}`)
	require.Empty(t, warnings)
	for method, want := range map[string]bool{
		"own": true, "bounded": false, "tier": true, "both": false, "default": false, "off": true, "all": true,
	} {
		rule, ok := f.Lookup(methodspan.Function{Class: "a", Method: method})
		require.True(t, ok)
		assert.Equal(t, want, rule.Pinned(), method)
	}
	assert.False(t, f.Default.Pinned())
}

// In tiers and defaults, bounds that contradict a rate are left out.
func TestParse_UnorderedBoundsOutsideEntries(t *testing.T) {
	f, warnings := parse(t, `{"version": 1,
  "tiers": {"t": {"rate": 0.5, "max": 0.1}, "u": {"max": 0.1}},
  "defaults": {"rate": 0.5, "tier": "u"},
  "methods": [{"match": "a*", "tier": "t"}]}`)
	assert.Equal(t, []string{
		"tiers.t (line 2): must hold min <= rate <= max, found rate 0.5, max 0.1",
		"defaults (line 3): must hold min <= rate <= max, with the values of its tier, found rate 0.5, max 0.1",
	}, warnings)
	rule, ok := f.Lookup(methodspan.ParseFunction("abc"))
	require.True(t, ok)
	assert.Equal(t, 0.5, rule.Rate)
	assert.Equal(t, 1.0, rule.Max)
	assert.Equal(t, 0.5, f.Default.Rate)
	assert.Equal(t, 0.05, (&Rule{Max: 0.05}).Bound(1))
	assert.Equal(t, 0.5, (&Rule{Min: 0.5, Max: 1}).Bound(0.1))
}

func TestParse_Limits(t *testing.T) {
	many := func(n int, item func(int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item(i))
		}
		return b.String()
	}
	name := func(i int) string { return strings.Repeat("t", i+1) }
	f, warnings := parse(t, `{"version":1,"tiers":{`+many(64, func(i int) string { return `"` + name(i) + `":{}` })+`,"more":{}}}`)
	assert.Equal(t, []string{`tiers (line 1): must be at most 64, found 65`}, warnings)
	assert.Len(t, f.Tiers, 64)

	f, warnings = parse(t, `{"version":1,"methods":[`+many(maxMethods+1, func(int) string { return `{"match":"a*"}` })+`]}`)
	assert.Equal(t, 1, f.Len())
	assert.Contains(t, warnings, "methods (line 1): must have at most 100000 entries, found 100001")
}
