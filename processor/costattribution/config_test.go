package costattribution

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/test/configtest"
)

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func priceBook(t testing.TB, text string) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "prices.yaml"), text)
}

// The command reports all faults at once: those of the configuration and those of the file.
func TestConfig_ValidateCommand(t *testing.T) {
	faulty := priceBook(t, "prices:\n- {region: a, usd_per_core_hour: -1}\n- {region: b, usd_per_core_hour: 1}\n- {regin: c, usd_per_core_hour: 1}\n")
	const (
		first  = "prices[0].usd_per_core_hour (line 2): must be a finite number above 0, found -1"
		second = "prices[2] (line 4): unknown key \"regin\": did you mean \"region\"?"
	)
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	for _, c := range []struct {
		name, section string
		printed       []string
		errs          []string // lines
	}{
		{"nothing", `{}`, nil, nil},
		{"empty path", `{price_book: }`, nil, nil},
		{"in place", `{prices: {default: {usd_per_core_hour: 0.04}}}`, nil, nil},
		{"warnings", `{price_book: "` + faulty + `"}`, []string{
			`warning: processors::cost_attribution: "` + faulty + `": ` + first,
			`warning: processors::cost_attribution: "` + faulty + `": ` + second,
		}, nil},
		{"strict", `{price_book: "` + faulty + `", strict: true}`, nil, []string{
			"processors::cost_attribution: `price_book` \"" + faulty + "\": " + first,
			"`price_book` \"" + faulty + "\": " + second,
		}},
		{"absent, and twice", `{price_book: "` + absent + `", prices: {}}`, nil, []string{
			"processors::cost_attribution: `price_book` and `prices` must not be combined, found both: keep one",
			"`price_book` \"" + absent + "\" must exist, found no such file",
			"processors::cost_attribution::prices: must have `default` or `prices`, found neither"}},
		{"faults in place", `{strict: true, prices: {currency: euro, default: {usd_per_core_hour: 0}, prices: [` +
			`{region: a, usd_per_core_hour: -0.1}, {usd_per_core_hour: .inf}, {region: a, usd_per_core_hour: 1}, {host_type: ` + strings.Repeat("x", 257) + `, usd_per_core_hour: .nan}]}}`,
			nil, []string{
				"processors::cost_attribution: `strict` has an effect only with `price_book`, found it without: remove it",
				"processors::cost_attribution::prices: `currency` must be three capital letters, as in USD, found \"euro\"",
				"prices[0]: must be the only entry for its attributes, found prices[2] for \"*/a/*/*\" too: the later, prices[2], is used: remove one",
				"processors::cost_attribution::prices::default: `usd_per_core_hour` must be a finite number above 0, found 0",
				"processors::cost_attribution::prices::prices::0: `usd_per_core_hour` must be a finite number above 0, found -0.1",
				"processors::cost_attribution::prices::prices::1: `usd_per_core_hour` must be a finite number above 0, found +Inf",
				"must name at least one of cloud_provider, region, host_type and capacity_type, found none: the price of all other processes is `default`",
				"processors::cost_attribution::prices::prices::3: `usd_per_core_hour` must be a finite number above 0, found NaN",
				"`host_type` must have 1 to 256 bytes, found 257",
			}},
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
	_, err := configtest.Validate(t, NewFactory(), `{pricebook: x, prices: {defaults: 1, prices: [{zone: 1}]}}`)
	require.Error(t, err)
	for _, key := range []string{"pricebook", "defaults", "zone"} {
		assert.Contains(t, err.Error(), key)
	}
}

func readme(t *testing.T) string {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// Every configuration in the README is one that the processor takes, with the
// files that the repository ships.
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
			require.Equal(t, NewFactory().Type(), id.Type())
			config := NewFactory().CreateDefaultConfig().(*Config)
			require.NoError(t, confmap.NewFromStringMap(section).Unmarshal(config), block)
			require.NoError(t, confmap.Validate(config), block)
			assert.Empty(t, config.warnings)
		}
	}
}

// Every label of the metrics is explained.
func TestReadme_Complete(t *testing.T) {
	text := readme(t)
	for o := range pricebook.Outcomes {
		assert.Contains(t, text, "`"+o.String()+"`")
	}
}
