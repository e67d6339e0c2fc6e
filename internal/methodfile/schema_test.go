package methodfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodfile"
)

const configDir = "../../config"

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(configDir, "methods.schema.json"))
	require.NoError(t, err)
	return s
}

func allows(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	return s.Validate(document)
}

func TestParse_Example(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(configDir, "methods.json"))
	require.NoError(t, err)
	assert.NoError(t, allows(t, schema(t), string(text)))
	f, warnings, err := methodfile.Parse(text)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, 6, f.Len())
}

// An editor that uses the schema must accept the same files as the collector.
func TestSchema_EqualsParser(t *testing.T) {
	s := schema(t)
	entry := func(e string) string { return `{"version": 1, "tiers": {"t": {}}, "methods": [` + e + `]}` }
	long := strings.Repeat("é", 1024)
	for name, text := range map[string]string{
		"least":              `{"version": 1}`,
		"version as float":   `{"version": 2}`,
		"no version":         `{}`,
		"empty parts":        `{"version": 1, "defaults": {}, "tiers": {}, "methods": []}`,
		"schema named":       `{"version": 1, "$schema": "./methods.schema.json"}`,
		"unknown part":       `{"version": 1, "rules": []}`,
		"defaults":           `{"version": 1, "tiers": {"t": {}}, "defaults": {"rate": 1, "cpu_rate": 0, "min": 0.1, "max": 1, "mode": "off", "tail": true, "stack": true, "tier": "t"}}`,
		"defaults' blocking": `{"version": 1, "defaults": {"blocking": true}}`,
		"defaults' rate":     `{"version": 1, "defaults": {"rate": 0}}`,
		"tier":               `{"version": 1, "tiers": {"t": {"rate": 1, "cpu_rate": 1, "min": 1, "max": 1, "mode": "aggregate", "tail": false, "stack": true}}}`,
		"tier's tier":        `{"version": 1, "tiers": {"t": {"tier": "t"}}}`,
		"tier's type":        `{"version": 1, "tiers": {"t": 1}}`,
		"tier unnamed":       `{"version": 1, "tiers": {"": {}}}`,
		"tier's long name":   `{"version": 1, "tiers": {"` + strings.Repeat("é", 64) + `": {}}}`,
		"tier's longer name": `{"version": 1, "tiers": {"` + strings.Repeat("é", 65) + `": {}}}`,
		"methods' type":      `{"version": 1, "methods": {}}`,

		"exact":                 entry(`{"class": "c", "method": "m"}`),
		"signature":             entry(`{"class": "c", "method": "m", "signature": "()"}`),
		"class":                 entry(`{"class": "c", "method": "*"}`),
		"class and signature":   entry(`{"class": "c", "method": "*", "signature": "()"}`),
		"no class":              entry(`{"class": "", "method": "m"}`),
		"class alone":           entry(`{"class": "c"}`),
		"method alone":          entry(`{"method": "m"}`),
		"method empty":          entry(`{"class": "c", "method": ""}`),
		"signature empty":       entry(`{"class": "c", "method": "m", "signature": ""}`),
		"signature alone":       entry(`{"signature": "()"}`),
		"nothing":               entry(`{}`),
		"match":                 entry(`{"match": "c*"}`),
		"match all":             entry(`{"match": "*"}`),
		"match empty":           entry(`{"match": ""}`),
		"match one":             entry(`{"match": "c"}`),
		"match twice":           entry(`{"match": "c**"}`),
		"match in the middle":   entry(`{"match": "*c*"}`),
		"match and class":       entry(`{"match": "c*", "class": "c"}`),
		"match and exact":       entry(`{"match": "c*", "class": "c", "method": "m"}`),
		"match and signature":   entry(`{"match": "c*", "signature": "()"}`),
		"pointer in class":      entry(`{"class": "p.(*T)", "method": "m"}`),
		"pointer in match":      entry(`{"match": "p.(*"}`),
		"pointer in method":     entry(`{"class": "scope", "method": "SELECT count(*)"}`),
		"arguments in class":    entry(`{"class": "p.T[...]", "method": "m"}`),
		"long":                  entry(`{"class": "` + long + `", "method": "` + long + `"}`),
		"class too long":        entry(`{"class": "` + long + `é", "method": "m"}`),
		"method too long":       entry(`{"class": "c", "method": "` + long + `é"}`),
		"tier known":            entry(`{"match": "c*", "tier": "t"}`),
		"tier empty":            entry(`{"match": "c*", "tier": ""}`),
		"tier as number":        entry(`{"match": "c*", "tier": 1}`),
		"rate least":            entry(`{"match": "c*", "rate": 1e-9}`),
		"rate too low":          entry(`{"match": "c*", "rate": 9e-10}`),
		"rate zero":             entry(`{"match": "c*", "rate": 0}`),
		"rate negative":         entry(`{"match": "c*", "rate": -0.1}`),
		"rate one":              entry(`{"match": "c*", "rate": 1.0}`),
		"rate too high":         entry(`{"match": "c*", "rate": 1.1}`),
		"rate huge":             entry(`{"match": "c*", "rate": 1e400}`),
		"rate as text":          entry(`{"match": "c*", "rate": "1"}`),
		"rate null":             entry(`{"match": "c*", "rate": null}`),
		"cpu rate zero":         entry(`{"match": "c*", "cpu_rate": 0}`),
		"cpu rate negative":     entry(`{"match": "c*", "cpu_rate": -1}`),
		"bounds":                entry(`{"match": "c*", "min": 0.1, "max": 0.2}`),
		"min zero":              entry(`{"match": "c*", "min": 0}`),
		"max too high":          entry(`{"match": "c*", "max": 2}`),
		"modes":                 entry(`{"match": "a*", "mode": "sample"}, {"match": "b*", "mode": "aggregate"}, {"match": "c*", "mode": "off"}`),
		"mode unknown":          entry(`{"match": "c*", "mode": "on"}`),
		"mode as bool":          entry(`{"match": "c*", "mode": false}`),
		"flags":                 entry(`{"match": "c*", "blocking": true, "tail": true, "stack": true}`),
		"blocking as text":      entry(`{"match": "c*", "blocking": "yes"}`),
		"tail as number":        entry(`{"match": "c*", "tail": 1}`),
		"stack as text":         entry(`{"match": "c*", "stack": "true"}`),
		"scope unknown":         entry(`{"match": "c*", "scope": "deep"}`),
		"field unknown":         entry(`{"match": "c*", "comment": "x"}`),
		"entry of another type": entry(`"c*"`),
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := methodfile.Parse([]byte(text))
			faultless := err == nil && len(warnings) == 0
			invalid := allows(t, s, text)
			assert.Equal(t, faultless, invalid == nil, "parser: %v %v, schema: %v", err, warnings, invalid)
		})
	}
}

// A schema cannot express references, orders and duplicate keys.
func TestSchema_FaultsOnlyParserFinds(t *testing.T) {
	s := schema(t)
	for name, text := range map[string]string{
		"tier unknown":   `{"version": 1, "methods": [{"match": "c*", "tier": "t"}]}`,
		"bounds crossed": `{"version": 1, "methods": [{"match": "c*", "min": 0.2, "max": 0.1}]}`,
		"same methods":   `{"version": 1, "methods": [{"match": "c*"}, {"match": "c*"}]}`,
		"field twice":    `{"version": 1, "methods": [{"match": "c*", "rate": 1, "rate": 1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := methodfile.Parse([]byte(text))
			require.NoError(t, err)
			assert.Len(t, warnings, 1)
			assert.NoError(t, allows(t, s, text))
		})
	}
}
