package adaptivesampler

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"gopkg.in/yaml.v3"

	"github.com/corehour/corehour/internal/configfile/configfiletest"
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

func TestDefaults(t *testing.T) {
	config := createDefaultConfig().(*Config)
	assert.Equal(t, 1.0, config.DefaultRate)
	assert.NoError(t, confmap.Validate(config))
}

// The command tells everything at once: what is wrong with the configuration
// and what is wrong with the file.
func TestValidateCommand(t *testing.T) {
	faulty := methodsFile(t, "{\"version\": 1, \"methods\": [\n{\"match\": \"a*\", \"rate\": 7},\n{\"match\": \"b*\"},\n{\"match\": \"c*\", \"mode\": \"offf\"}]}")
	const (
		first  = `methods[0].rate (line 2): must be between 1e-09 and 1, found 7: it is a share, not a percentage: 7% is 0.07`
		second = `methods[2].mode (line 4): must be one of ["sample" "aggregate" "off"], found "offf": did you mean "off"?`
	)
	broken := methodsFile(t, `{"version": 1,`)
	absent := filepath.Join(t.TempDir(), "absent.json")
	for _, c := range []struct {
		name, section string
		printed       []string
		errs          []string // lines
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
			"processors::adaptive_sampler: `methods_file` \"" + absent + "\" must exist, found no such file: a relative path starts where the collector was started"}},
		{"no effect", `{strict: true, default_rate: 0}`, nil, []string{
			"processors::adaptive_sampler: `default_rate` must be between 1e-09 and 1, found 0",
			"`strict` has an effect only beside `methods_file`, found it alone: remove it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			printed, err := configfiletest.Validate(t, NewFactory(), c.section)
			assert.Equal(t, strings.Join(append(c.printed, ""), "\n"), printed)
			if c.errs == nil {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, strings.Join(c.errs, "\n"))
		})
	}
	_, err := configfiletest.Validate(t, NewFactory(), `{method_file: x, default_rates: 1}`)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "method_file")
	assert.Contains(t, err.Error(), "default_rates")
}

func TestRatesThatAreNone(t *testing.T) {
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

// Every configuration in the README is one that the processor takes, with the
// files that the repository ships.
func TestReadmeConfigurations(t *testing.T) {
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

// Every option and every word of the metrics is explained.
func TestReadmeIsComplete(t *testing.T) {
	text := readme(t)
	config := confmap.New()
	require.NoError(t, config.Marshal(createDefaultConfig()))
	for _, key := range config.AllKeys() {
		assert.True(t, strings.Contains(text, "| `"+key+"` |"), "the README explains the option %s", key)
	}
	for _, name := range append(outcomeNames[:], contradictionNames[1:]...) {
		assert.True(t, strings.Contains(text, "`"+name+"`"), "the README explains %s", name)
	}
}
