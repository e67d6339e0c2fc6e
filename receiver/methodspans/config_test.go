package methodspans

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

// load reads the configuration of one receiver as the collector does.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	raw := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &raw))
	config := NewFactory().CreateDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(raw).Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

func TestConfig_Defaults(t *testing.T) {
	config, err := load(t, "protocols: {grpc: , http: }")
	require.NoError(t, err)
	assert.Equal(t, "localhost:4317", config.Protocols.GRPC.Get().NetAddr.Endpoint)
	assert.Equal(t, "localhost:4318", config.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint)
	assert.Equal(t, ForeignAll, config.Foreign)
	assert.Equal(t, 1.0, config.AssumedRate)
	assert.Equal(t, ClockTolerance{Future: 5 * time.Minute, Absolute: time.Millisecond, Relative: 0.01}, config.ClockTolerance)
	assert.Equal(t, Limits{MaxNameLength: 512, MaxServices: 1000, MaxMethods: 10_000, MaxInstances: 10_000, RememberedBatches: 1024, DecodingMiB: 256, GRPCRequests: 100}, config.Limits)

	assert.Equal(t, time.Minute, config.Protocols.HTTP.Get().ServerConfig.ReadTimeout)
	config, err = load(t, "protocols: {http: }")
	require.NoError(t, err)
	assert.False(t, config.Protocols.GRPC.HasValue(), "as in the stock receiver, only what is named listens")
}

func TestConfig_Invalid(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		want       []string // one per fault
	}{
		{"no protocol", "foreign: all", []string{"`protocols` must have at least one of `grpc` and `http`, found none"}},
		{"no authority", "protocols: {grpc: {tls: {cert_file: a.pem, key_file: b.pem, client_ca_file: '', client_ca_file_reload: true}}}", []string{"protocols::grpc: `tls::client_ca_file` is empty and `client_ca_file_reload` is true"}},
		{"unknown keys", "protocols: {grpc: }\nlimits: {max_method: 3}\nforeing: all", []string{"max_method", "foreing"}},
		{"unknown mode", "protocols: {grpc: }\nforeign: al", []string{"`foreign` must be one of [\"all\" \"code\" \"rules\" \"none\"], found \"al\""}},
		{"rules without mode", "protocols: {grpc: }\nforeign_rules: [{match: a.*}]",
			[]string{"`foreign_rules` has an effect only when `foreign` is `rules`, found 1 rules and `foreign: all`"}},
		{"mode without rules", "protocols: {grpc: }\nforeign: rules", []string{"`foreign_rules` must hold at least one rule when `foreign` is `rules`, found none"}},
		{"rates without effect", "protocols: {grpc: }\nforeign: none\nassumed_rate: 0.5", []string{"`assumed_rate` and `assumed_rates` have no effect when `foreign` is `none`"}},
		{"rates out of range", "protocols: {grpc: }\nassumed_rate: 0\nassumed_rates: {b: 1.5, a: -1, c: .nan, d: 0.5}", []string{
			"`assumed_rate` must be above 0 and at most 1, found 0",
			"`assumed_rates::a` must be above 0 and at most 1, found -1",
			"`assumed_rates::b` must be above 0 and at most 1, found 1.5",
			"`assumed_rates::c` must be above 0 and at most 1, found NaN",
		}},
		{"bad rules", "protocols: {grpc: }\nforeign: rules\nforeign_rules: [{match: a.b}, {service: 's*p', match: ''}]", []string{
			"foreign_rules::1: `service` may have `*` at its end only, found \"s*p\"",
			"`match` must name a method, or a prefix of some followed by `*`, found nothing",
		}},
		{"bad limits", "protocols: {grpc: }\nlimits: {max_name_length: 31, max_services: 0, max_methods: -1, max_instances: 2000000, remembered_batches: 0}", []string{
			"limits: `max_name_length` must be between 32 and 65536, found 31",
			"`max_services` must be between 1 and 100000, found 0",
			"`max_methods` must be between 1 and 1000000, found -1",
			"`max_instances` must be between 1 and 1000000, found 2000000",
			"`remembered_batches` must be between 1 and 65536, found 0",
		}},
		{"bad tolerance", "protocols: {grpc: }\nclock_tolerance: {absolute: -1s, relative: 2}", []string{
			"clock_tolerance: `absolute` must be between 0s and 1m, found -1s",
			"`relative` must be between 0 and 1, found 2",
		}},
		{"paths of other signals", "protocols: {http: {metrics_url_path: /m, logs_url_path: /l}}", []string{
			"`protocols::http::metrics_url_path` has no effect, found \"/m\"",
			"`protocols::http::logs_url_path` has no effect, found \"/l\"",
		}},
		{"everything at once", "foreign: al\nassumed_rate: 2\nlimits: {max_methods: 0}\nclock_tolerance: {relative: -1}", []string{
			"`protocols`", "`foreign`", "`assumed_rate`", "limits: `max_methods`", "clock_tolerance: `relative`",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.yaml)
			require.Error(t, err)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
			if !strings.Contains(err.Error(), "has invalid keys") {
				assert.Len(t, strings.Split(err.Error(), "\n"), len(c.want), "one line per fault:\n%v", err)
			}
		})
	}
}

func TestConfig_Struct(t *testing.T) {
	require.NoError(t, componenttest.CheckConfigStruct(createDefaultConfig()))
}
