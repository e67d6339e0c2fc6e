package samplingrates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	var raw map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &raw))
	config := NewFactory().CreateDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(raw).Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

func TestConfig(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{name: "defaults", text: "{}"},
		{name: "no timeouts", text: "{write_timeout: 0s}"},
		{name: "no address", text: `{endpoint: ""}`, want: "`endpoint` must be host:port, found nothing"},
		{name: "no time to write", text: "{write_timeout: 5s}", want: "`write_timeout` must be above 5s"},
		{name: "no time to read", text: "{read_timeout: 1s}", want: "`read_timeout` must be above 5s"},
		{name: "unknown key", text: "{endpiont: x}", want: "endpiont"},
		{name: "unknown key of a section", text: "{tls: {cert_fiel: x}}", want: "cert_fiel"},
		{name: "unknown limit", text: "{limits: {max_waiters: 1}}", want: "max_waiters"},
		{name: "options of the server", text: "{keepalive: {idle_timeout: 20s}, tls: {cert_file: a, key_file: b}, cors: {allowed_origins: ['*']}, response_headers: {a: b}}"},
		{name: "limits", text: "{limits: {max_waiting: 0, max_answers_mib: -1, max_services: 0, remembered_tables: 0}}",
			want: "limits: `max_waiting` must be between 1 and 100000, found 0"},
		{name: "the last of the limits too", text: "{limits: {max_waiting: 0, remembered_tables: 5000}}", want: "`remembered_tables` must be between 1 and 4096, found 5000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.text)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// Authentication belongs to other extensions.
func TestServer_Authentication(t *testing.T) {
	config, err := load(t, "{endpoint: 'localhost:0', auth: {authenticator: gate}}")
	require.NoError(t, err)
	r := newRig(t, config)
	r.source.set("shop", tableOf("1", 0.5))
	gate := component.MustNewID("gate")
	require.NoError(t, r.server.Start(t.Context(), host{componenttest.NewNopHost(), map[component.ID]component.Component{gate: doorman{}}}))
	t.Cleanup(func() { require.NoError(t, r.server.Shutdown(context.Background())) })
	r.client = newClient(t)
	assert.Equal(t, 401, r.get(question1).status)
	assert.Equal(t, 200, r.get(question1, "Authorization", "sesame").status)

	other := newRig(t, config)
	assert.ErrorContains(t, other.server.Start(t.Context(), componenttest.NewNopHost()), "gate")
	require.NoError(t, other.server.Shutdown(t.Context()))
}

type doorman struct{ component.Component }

func (doorman) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if strings.Join(sources["Authorization"], "") != "sesame" {
		return ctx, errors.New("who is there?")
	}
	return ctx, nil
}

// For two servers on one address the second reports the address.
func TestServer_AddressInUse(t *testing.T) {
	r := start(t, testConfig(nil))
	second := newRig(t, testConfig(func(c *Config) { c.HTTP.NetAddr.Endpoint = r.server.address.String() }))
	assert.ErrorContains(t, second.server.Start(t.Context(), componenttest.NewNopHost()), r.server.address.String())
	require.NoError(t, second.server.Shutdown(t.Context()))
}

func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		var raw struct {
			Extensions map[string]yaml.Node
		}
		require.NoError(t, yaml.Unmarshal([]byte(block), &raw))
		section, err := yaml.Marshal(raw.Extensions["sampling_rates"])
		require.NoError(t, err)
		_, err = load(t, string(section))
		assert.NoError(t, err, block)
	}
	for _, names := range [][]string{resultNames[:], endpointNames[:], tableNames[:], {defaultGRPC}} {
		for _, name := range names {
			assert.Contains(t, string(text), name)
		}
	}
}

// bounds.yaml, the source of docs/reference/bounds.md, matches the code.
func TestBounds_Documented(t *testing.T) {
	text, err := os.ReadFile("bounds.yaml")
	require.NoError(t, err)
	var list struct {
		Bounds []struct{ What, Option, Default, Metric string }
	}
	require.NoError(t, yaml.Unmarshal(text, &list))
	metrics, err := os.ReadFile("documentation.md")
	require.NoError(t, err)
	config := confmap.New()
	require.NoError(t, config.Marshal(createDefaultConfig()))
	documented := map[string]bool{}
	for _, b := range list.Bounds {
		documented[b.Option], documented[b.Default] = true, true
		if b.Option != "" {
			value, _, _ := strings.Cut(b.Default, " ")
			assert.Equal(t, fmt.Sprint(config.Get(b.Option)), value, b.Option)
		}
		if name, _, _ := strings.Cut(b.Metric, "{"); name != "" {
			assert.Contains(t, string(metrics), "### "+name+"\n", b.What)
		}
	}
	limits, err := config.Sub("limits")
	require.NoError(t, err)
	for _, key := range limits.AllKeys() {
		assert.True(t, documented["limits::"+key], key)
	}
	assert.True(t, documented[fmt.Sprintf("%d operations", maxOperations)])
	assert.True(t, documented[fmt.Sprintf("%d calls", maxStreams)])
	assert.True(t, documented[fmt.Sprintf("%.0f minutes", maxIdle.Minutes())])
	assert.True(t, documented[fmt.Sprintf("%d explanations", maxExplanations)])
	assert.True(t, documented[fmt.Sprintf("%d KiB, %d KiB for each parameter", maxQuery>>10, maxParameter>>10)])
}
