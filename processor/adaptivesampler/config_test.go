package adaptivesampler

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/statefile"
	"github.com/corehour/corehour/test/configtest"
)

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func methodsFile(t testing.TB, text string) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "methods.json"), text)
}

func TestConfig_Defaults(t *testing.T) {
	config := createDefaultConfig().(*Config)
	assert.Equal(t, 1.0, config.DefaultRate)
	assert.NoError(t, confmap.Validate(config))
}

// The validate command reports all errors at once: those of the configuration and those of the file.
func TestConfig_ValidateCommand(t *testing.T) {
	faulty := methodsFile(t, "{\"version\": 1, \"methods\": [\n{\"match\": \"a*\", \"rate\": 7},\n{\"match\": \"b*\"},\n{\"match\": \"c*\", \"mode\": \"offf\"}]}")
	const (
		first  = `methods[0].rate (line 2): must be between 1e-09 and 1, found 7: rates are shares, 7% is 0.07`
		second = `methods[2].mode (line 4): must be one of ["sample" "aggregate" "off"], found "offf": did you mean "off"?`
	)
	broken := methodsFile(t, `{"version": 1,`)
	absent := filepath.Join(t.TempDir(), "absent.json")
	for _, c := range []struct {
		name, section string
		printed       []string
		errs          []string // one per line
	}{
		{"nothing", `{}`, nil, nil},
		{"warnings", `{methods_file: "` + faulty + `"}`, []string{
			`warning: processors::adaptive_sampler: "` + faulty + `": ` + first,
			`warning: processors::adaptive_sampler: "` + faulty + `": ` + second,
		}, nil},
		{"strict", `{methods_file: "` + faulty + `", strict: true, default_rate: 2}`, nil, []string{
			"processors::adaptive_sampler: `default_rate` must be between 1e-09 and 1, found 2",
			"`methods_file` \"" + faulty + "\": " + first,
			"`methods_file` \"" + faulty + "\": " + second,
		}},
		{"broken", `{methods_file: "` + broken + `"}`, nil, []string{
			"processors::adaptive_sampler: `methods_file` \"" + broken + "\": 1:15: not JSON: unexpected end of JSON input"}},
		{"absent", `{methods_file: "` + absent + `"}`, nil, []string{
			"processors::adaptive_sampler: `methods_file` \"" + absent + "\" must exist, found no such file"}},
		{"no effect", `{strict: true, default_rate: 0}`, nil, []string{
			"processors::adaptive_sampler: `default_rate` must be between 1e-09 and 1, found 0",
			"`strict` has an effect only with `methods_file`, found it alone: remove it"}},
		{"strategy unknown", `{strategy: bugdet}`, nil, []string{
			"processors::adaptive_sampler: `strategy` must be one of [\"file\" \"tiers\" \"budget\"], found \"bugdet\": did you mean \"budget\"?"}},
		{"options of strategies", `{half_life: 1h, budget: {records_per_second: 5}, min_rate: 0.1}`, nil, []string{
			"processors::adaptive_sampler: `half_life`, `min_rate` and `budget` have an effect only with `strategy: tiers` or `strategy: budget`, found them with `strategy: file`: set a strategy or remove them"}},
		{"the processor's own", `{interval: 10ms, max_methods: 0}`, nil, []string{
			"processors::adaptive_sampler: `interval` must be at least 1s, found 10ms",
			"`max_methods` must be between 1 and 1000000, found 0"}},
		{"default rate", `{strategy: tiers, default_rate: 0.5}`, nil, []string{
			"processors::adaptive_sampler: `default_rate` has an effect only with `strategy: file`, found 0.5 with `strategy: tiers`: the rate of methods never seen is `cold_start::rate`"}},
		{"rates", `{strategy: budget, cold_start: {rate: 2}, min_rate: 0.5, max_rate: 0.1}`, nil, []string{
			"processors::adaptive_sampler: `cold_start::rate` must be between 1e-09 and 1, found 2: it is the share of calls that are kept",
			"`min_rate` must be at most `max_rate`, found 0.5 above 0.1: exchange them"}},
		{"shadow", `{strategy: budget, shadow: [iner, 7]}`, nil, []string{
			"processors::adaptive_sampler: `shadow[1]` must be the name of a tier, found 7"}},
		{"shadow of a tier that is none", `{strategy: budget, shadow: [iner]}`, nil, []string{
			"processors::adaptive_sampler: `shadow[0]` must be a tier, found \"iner\": did you mean \"inner\"?"}},
		{"shadow without tiers", `{shadow: [inner]}`, nil, []string{
			"processors::adaptive_sampler: `shadow[0]` must be a tier, found \"inner\": there are no tiers without a method file that names them, or a strategy: to put everything in shadow write `shadow: true`"}},
		{"shadow of all", `{shadow: true}`, nil, nil},
		{"shadow of what", `{shadow: inner}`, nil, []string{
			"processors::adaptive_sampler: `shadow` must be true, false or a list of tiers, found inner"}},
		{"state", `{state: {interval: 1m}}`, nil, []string{
			"processors::adaptive_sampler: `state::interval` has an effect only with `state::file`, found it alone: remove it"}},
		{"state too often", `{state: {file: x, interval: 1ms}}`, nil, []string{
			"processors::adaptive_sampler: `state::interval` must be at least 1s, found 1ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			printed, err := configtest.Validate(t, NewFactory(), c.section)
			assert.Equal(t, strings.Join(append(c.printed, ""), "\n"), printed)
			if c.errs == nil {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, strings.Join(c.errs, "\n"))
		})
	}
	_, err := configtest.Validate(t, NewFactory(), `{method_file: x, default_rates: 1}`)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "method_file")
	assert.Contains(t, err.Error(), "default_rates")
}

func TestConfig_InvalidRates(t *testing.T) {
	for _, rate := range []float64{0, -1, 1.01, 1e-10, math.NaN(), math.Inf(1)} {
		assert.Error(t, fileConfig(rate).Validate(), "%v", rate)
	}
}

func fileConfig(rate float64) *Config {
	c := createDefaultConfig().(*Config)
	c.DefaultRate = rate
	return c
}

func readme(t *testing.T) string {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// The processor accepts every configuration in the README, with the files in the repository.
func TestReadme_Configurations(t *testing.T) {
	text := readme(t)
	t.Chdir("../..")
	blocks := strings.Split(text, "```yaml\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		var raw struct {
			Processors map[component.ID]map[string]any
		}
		require.NoError(t, yaml.Unmarshal([]byte(block), &raw), block)
		require.NotEmpty(t, raw.Processors, block)
		for id, section := range raw.Processors {
			if id.Type() != NewFactory().Type() {
				continue
			}
			config := NewFactory().CreateDefaultConfig().(*Config)
			require.NoError(t, confmap.NewFromStringMap(section).Unmarshal(config), block)
			require.NoError(t, confmap.Validate(config), block)
			assert.Empty(t, config.warnings)
		}
	}
}

func TestConfig_Struct(t *testing.T) {
	require.NoError(t, componenttest.CheckConfigStruct(NewFactory().CreateDefaultConfig()))
}

// Values in YAML arrive in the configuration.
func TestConfig_Unmarshal(t *testing.T) {
	c := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"strategy": "budget", "interval": "30s", "rates": "sampling_rates/a", "shadow": []any{"mid", "inner"},
		"budget": map[string]any{"records_per_second": 5}, "state": map[string]any{"file": "x"},
	}).Unmarshal(c))
	require.NoError(t, confmap.Validate(c))
	assert.Equal(t, "budget", c.Strategy)
	assert.Equal(t, 30*time.Second, c.Interval)
	assert.Equal(t, "sampling_rates/a", c.Rates.String())
	assert.Equal(t, 5.0, c.Budget.RecordsPerSecond)
	assert.Equal(t, 0.03, c.Budget.UniformShare, "the default of an option that is not set")
	assert.Equal(t, StateConfig{File: "x", Interval: 5 * time.Minute}, c.State)
	shadow, err := shadowOf(c.Shadow)
	require.NoError(t, err)
	assert.Equal(t, []string{"mid", "inner"}, shadow.tiers)
}

// bounds.yaml, the source of docs/reference/bounds.md, agrees with the code.
func TestBounds_Documented(t *testing.T) {
	text, err := os.ReadFile("bounds.yaml")
	require.NoError(t, err)
	metrics, err := os.ReadFile("documentation.md")
	require.NoError(t, err)
	var list struct {
		Bounds []struct{ What, Default, Metric string }
	}
	require.NoError(t, yaml.Unmarshal(text, &list))
	said := make(map[string]bool)
	for _, b := range list.Bounds {
		said[b.Default] = true
		if b.Metric != "" {
			assert.True(t, strings.Contains(string(metrics), "### "+b.Metric+"\n"), "%s: %s", b.What, b.Metric)
		}
	}
	for _, is := range []string{
		fmt.Sprintf("%d methods, names of at most %d kB", createDefaultConfig().(*Config).MaxMethods, maxName>>10),
		fmt.Sprintf("%d versions", maxGroups),
		fmt.Sprintf("%d of each, the busiest", maxServed),
		fmt.Sprintf("%d batches", maxFailed),
		fmt.Sprintf("%d MiB", statefile.MaxSize>>20),
		fmt.Sprintf("%d of each since the start", maxTiers),
	} {
		assert.True(t, said[is], "bounds.yaml says %s", is)
	}
	assert.Equal(t, maxTiers, maxReasons)
}

// The README explains every attribute value of the metrics.
func TestReadme_Complete(t *testing.T) {
	text := readme(t)
	for _, name := range append(outcomeNames[:], contradictionNames[1:]...) {
		assert.True(t, strings.Contains(text, "`"+name+"`"), "the README explains %s", name)
	}
}
