package methodspans

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

// bounds.yaml, and so docs/reference/bounds.md, agrees with the code.
func TestBounds_Documented(t *testing.T) {
	text, err := os.ReadFile("bounds.yaml")
	require.NoError(t, err)
	var list struct {
		Bounds []struct{ What, Option, Default, Metric string }
	}
	require.NoError(t, yaml.Unmarshal(text, &list))
	config := confmap.New()
	require.NoError(t, config.Marshal(createDefaultConfig()))
	metrics, err := os.ReadFile("documentation.md")
	require.NoError(t, err)

	documented := map[string]bool{}
	for _, b := range list.Bounds {
		documented[b.Option] = true
		documented[b.Default] = true
		if strings.HasPrefix(b.Option, "limits::") {
			value, _, _ := strings.Cut(b.Default, " ")
			assert.Equal(t, fmt.Sprint(config.Get(b.Option)), value, "%s: %s", b.What, b.Option)
		}
		if name, _, _ := strings.Cut(b.Metric, "{"); name != "" {
			assert.Contains(t, string(metrics), "### "+name+"\n", b.What)
		}
	}
	limits, err := config.Sub("limits")
	require.NoError(t, err)
	for _, key := range limits.AllKeys() {
		assert.True(t, documented["limits::"+key], "limits::%s is in bounds.yaml", key)
	}
	assert.True(t, documented[fmt.Sprintf("below 2^%g calls", math.Log2(methodspan.MostMeasured))])
	assert.True(t, documented[fmt.Sprintf("%d bins", maxBins)])
	assert.True(t, documented[fmt.Sprintf("%d spans", maxDepth)])
	assert.True(t, documented[fmt.Sprintf("2 x %d traces, about 10 MB", maxTraces)])
	assert.True(t, documented[fmt.Sprintf("%d processes", maxUnpolled)])
}
