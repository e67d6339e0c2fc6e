package warehouse

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

// load loads a configuration over the defaults, as the collector does.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	var raw map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &raw))
	cfg := NewFactory().CreateDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(raw).Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfig_StorageAllowed(t *testing.T) {
	cfg, err := load(t, "sending_queue: {storage: file_storage/queue}")
	require.NoError(t, err)
	assert.Equal(t, "file_storage/queue", cfg.Queue.StorageID.String())
}

func TestConfig_DefaultsValid(t *testing.T) {
	cfg, err := load(t, "{}")
	require.NoError(t, err)
	assert.Equal(t, "./corehour-warehouse", cfg.Path)
	assert.Equal(t, Drop, cfg.OnFull)
}

// Each fault is reported with its path, the rule and the value found, and all faults are reported
// together.
func TestConfig_ReportsAllFaults(t *testing.T) {
	_, err := load(t, `
path: ""
on_full: block
shutdown_timeout: -1s
fold: {max_cells: 0}
parquet: {late: 0s, future: -1h, grace: 0s, remember_for: 0s, remember_max: 12}
retry: {initial_interval: 0s, multiplier: 0.5}
ids: some
disk: {max_bytes: -1}
maintenance: {interval: 0s, max_files: 1, minute_after: 3h, hour_after: 2h, keep_raw: 1h, drop_oldest: true}
sending_queue:
  sizer: bytes
  num_consumers: 10
  block_on_overflow: true
  wait_for_result: true
  batch:
    sizer: bytes
    min_size: 0
    max_size: 1
    partition: {metadata_keys: [tenant]}
`)
	require.Error(t, err)
	for _, want := range []string{
		"`path` must name", "`on_full` must be \"drop\" or \"reject\", found \"block\"",
		"`shutdown_timeout` must be positive, found -1s", "`fold::max_cells` must be positive, found 0",
		"`parquet::late` must be positive, found 0s", "`parquet::future` must be positive, found -1h0m0s",
		"`ids` must be \"all\", \"exemplar\" or \"none\", found \"some\"", "`disk::max_bytes` must not be negative, found -1",
		"`maintenance::interval` must be positive", "`maintenance::max_files` must be at least 2, found 1",
		"`maintenance::hour_after` must be more than `maintenance::minute_after`", "`maintenance::keep_raw` has no effect",
		"`parquet::grace`", "`parquet::remember_for`", "`parquet::remember_max` must be at least 1000, found 12",
		"`retry::initial_interval` must be positive, found 0s", "`retry::multiplier` must be at least 1, found 0.5",
		"`sending_queue::sizer` must be `items`", "found `bytes`", "`sending_queue::num_consumers` must be 1", "found 10",
		"`sending_queue::block_on_overflow` must be false", "`sending_queue::wait_for_result` must be false",
		"`sending_queue::batch::sizer` must be `items`", "`sending_queue::batch::min_size` must be positive, found 0",
		"`sending_queue::batch::max_size` has no effect", "found 1", "`sending_queue::batch::partition::metadata_keys` has no effect", "tenant",
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestConfig_SingleFaults(t *testing.T) {
	for text, want := range map[string]string{
		"sending_queue: {queue_size: 0}":                         "`queue_size` must be positive",
		"sending_queue: {queue_size: 10, batch: {min_size: 20}}": "`min_size` must be less than or equal to `queue_size`",
		"sending_queue: {batch: {flush_timeout: 0s}}":            "`flush_timeout` must be positive, found 0",
		"sending_queue: {batch: {enabled: false}}":               "`sending_queue::batch` must be set",
		"retry: {max_elapsed_time: 1s, initial_interval: 2s}":    "max_elapsed_time",
		"on_ful: drop":                      "on_ful",
		"bucket: {}":                        "`url`: want gs://bucket",
		"bucket: {url: 's3://user:pass@b'}": "credentials are those of the environment",
		"bucket: {url: 'gs://b', prefix: a/b, interval: 5m}":                  "`prefix` must be one name of 1 to 128 letters",
		"bucket: {url: 'gs://b', interval: 5m}":                               "`interval` must be between 1s and 1m0s, found 5m0s",
		"bucket: {url: 'gs://b', local_bytes: 1000}":                          "`local_bytes` must be at least 67108864, found 1000",
		"{bucket: {url: 'gs://b'}, maintenance: {drop_oldest: true}}":         "`maintenance::drop_oldest` has no effect with `bucket` and without `disk::max_bytes`",
		"{disk: {min_free_bytes: 0}, maintenance: {drop_oldest: true}}":       "`maintenance::drop_oldest` has no effect without `disk::max_bytes` or `disk::min_free_bytes`",
		"{bucket: {url: 'gs://b'}, bigquery: {project: p-12345, dataset: d}}": "set one of them, found both",
	} {
		_, err := load(t, text)
		assert.ErrorContains(t, err, want, text)
	}
}

// Ages and sizes have the same units as the flags of the command, and an error shows a valid value.
func TestConfig_Units(t *testing.T) {
	cfg, err := load(t, `
parquet: {late: 60d, future: 1d, remember_for: 2d}
maintenance: {minute_after: 7d, hour_after: 4w, keep_rollups: 400d}
disk: {max_bytes: 10GB, min_free_bytes: 1000000000}
bucket: {url: 'gs://b', local_bytes: 2GB}
`)
	require.NoError(t, err)
	p, opts := cfg.policy(), cfg.parquetOptions()
	assert.Equal(t, 168*time.Hour, p.MinuteAfter)
	assert.Equal(t, 672*time.Hour, p.HourAfter)
	assert.Equal(t, 9600*time.Hour, p.KeepRollups)
	assert.Equal(t, 60*24*time.Hour, opts.Late)
	assert.Equal(t, 24*time.Hour, opts.Future)
	assert.Equal(t, 48*time.Hour, opts.RememberFor)
	assert.EqualValues(t, 10_000_000_000, opts.MaxBytes)
	assert.EqualValues(t, 1_000_000_000, opts.MinFree)
	assert.EqualValues(t, 2_000_000_000, cfg.Bucket.Get().LocalBytes)

	// The printed configuration of the collector loads again.
	printed := confmap.New()
	require.NoError(t, printed.Marshal(cfg.Maintenance))
	text, err := yaml.Marshal(map[string]any{"maintenance": printed.ToStringMap()})
	require.NoError(t, err)
	assert.Contains(t, string(text), "minute_after: 168h0m0s")
	again, err := load(t, string(text))
	require.NoError(t, err)
	assert.Equal(t, cfg.Maintenance, again.Maintenance)

	for text, wants := range map[string][]string{
		"maintenance: {minute_after: 7 days}":                                  {"maintenance.minute_after", "like 90m, 168h, 7d or 4w", `"7 days"`},
		"maintenance: {minute_after: x, hour_after: y}":                        {"minute_after", `"x"`, "hour_after", `"y"`},
		"disk: {max_bytes: 10 gigs}":                                           {"disk.max_bytes", "like 268435456, 500MB", `"10 gigs"`},
		"bigquery: {project: p-12345, dataset: d, partition_expiration: soon}": {"partition_expiration", `"soon"`},
		"bigquery: {project: p-12345, dataset: d, dead_letter_bytes: few}":     {"dead_letter_bytes", `"few"`},
	} {
		_, err := load(t, text)
		for _, want := range wants {
			assert.ErrorContains(t, err, want, text)
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Every YAML block of the README and of the BigQuery page is a collector configuration that loads.
func TestReadme(t *testing.T) {
	for _, page := range []string{"README.md", "../../docs/guides/bigquery.md"} {
		t.Run(page, func(t *testing.T) { loadBlocks(t, page) })
	}
}

func loadBlocks(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	blocks := yamlBlock.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		var doc struct {
			Exporters map[string]yaml.Node `yaml:"exporters"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(block[1]), &doc))
		require.NotEmpty(t, doc.Exporters)
		for id, node := range doc.Exporters {
			var parsed component.ID
			require.NoError(t, parsed.UnmarshalText([]byte(id)))
			assert.Equal(t, typ, parsed.Type())
			section, err := yaml.Marshal(&node)
			require.NoError(t, err)
			if strings.TrimSpace(string(section)) == "null" {
				section = []byte("{}")
			}
			_, err = load(t, string(section))
			assert.NoError(t, err, block[1])
		}
	}
}
