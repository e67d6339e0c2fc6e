package methodspans

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

func readme(t *testing.T) string {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// Every configuration in the README is valid.
func TestReadme_Configurations(t *testing.T) {
	blocks := strings.Split(readme(t), "```yaml\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		block, _, ok := strings.Cut(block, "```")
		require.True(t, ok, "a block that does not end")
		var raw struct {
			Receivers map[component.ID]map[string]any
		}
		require.NoError(t, yaml.Unmarshal([]byte(block), &raw), block)
		require.NotEmpty(t, raw.Receivers, "a block without receivers:\n%s", block)
		for id, section := range raw.Receivers {
			if id.Type() != NewFactory().Type() {
				continue
			}
			config := NewFactory().CreateDefaultConfig()
			require.NoError(t, confmap.NewFromStringMap(section).Unmarshal(config), block)
			require.NoError(t, confmap.Validate(config), block)
		}
	}
}

// The README explains every fault reason and every value of a metric's attributes.
func TestReadme_Complete(t *testing.T) {
	text := readme(t)
	for _, list := range [][]string{reasonNames[:], outcomeNames[:], kindNames[:], tableNames[:]} {
		for _, name := range list {
			assert.Contains(t, text, "`"+name+"`")
		}
	}
}
