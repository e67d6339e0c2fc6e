package warehouse

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// inBucket returns a configuration with a local directory as bucket.
func inBucket(t *testing.T) *Config {
	t.Helper()
	cfg := testConfig(t)
	*cfg.Bucket.GetOrInsertDefault() = BucketConfig{URL: "file://" + t.TempDir(), Prefix: "host-1", Interval: time.Second, LocalBytes: minLocalBytes}
	require.NoError(t, cfg.Validate())
	return cfg
}

// uploader returns an exporter created by the factory, as in the collector.
func uploader(t *testing.T, cfg *Config) (exporter.Traces, *componenttest.Telemetry) {
	t.Helper()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	e, err := NewFactory().CreateTraces(t.Context(), exporter.Settings{ID: component.NewID(typ), TelemetrySettings: tel.NewTelemetrySettings()}, cfg)
	require.NoError(t, err)
	return e, tel
}

func bucketTotals(t *testing.T, address string) rowTotals {
	t.Helper()
	b, err := bucket.Open(t.Context(), address)
	require.NoError(t, err)
	defer b.Close()
	c, err := bucket.OpenCache(t.TempDir(), 1<<30)
	require.NoError(t, err)
	defer c.Close()
	s, _, err := c.Snapshot(t.Context(), b, bucket.Read{})
	require.NoError(t, err)
	var all []methodspan.Row
	for _, f := range s.Files {
		rows, err := parquet.ReadRows(f.Path)
		require.NoError(t, err)
		all = append(all, rows...)
	}
	stored := rowTotals{}
	stored.addRows(all)
	return stored
}

// All rows are in the bucket after a shutdown. A next collector without the directory recognises a
// repeated request from the bucket.
func TestBucket_UploadsDirectory(t *testing.T) {
	cfg := inBucket(t)
	var in []ptrace.Traces
	for run := range int64(2) {
		e, tel := uploader(t, cfg)
		require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
		for seq := range int64(3) {
			x := export{instance: "a", seq: 2*run + seq + 1, calls: map[string]int64{"a.B": 5}, measured: 3, process: true}
			require.NoError(t, e.ConsumeTraces(t.Context(), x.traces()))
			if run == 0 || seq > 0 { // the first request of run 1 repeats the last of run 0
				in = append(in, x.traces())
			}
		}
		if run == 0 {
			second, _ := uploader(t, func() *Config { other := *cfg; other.Path = t.TempDir(); return &other }())
			require.ErrorIs(t, second.Start(t.Context(), componenttest.NewNopHost()), bucket.ErrTaken)
			require.NoError(t, second.Shutdown(t.Context()))
		}
		for _, name := range []string{"behind", "failures", "local_bytes", "transferred", "unsent_bytes"} {
			m, err := tel.GetMetric("otelcol_exporter_warehouse_bucket_" + name)
			require.NoError(t, err, name)
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && name == "failures" {
				assert.Zero(t, sum.DataPoints[0].Value)
			}
		}
		require.NoError(t, e.Shutdown(t.Context()))
		cfg.Path = t.TempDir()
	}
	balanced(t, totalsOf(in...), bucketTotals(t, cfg.Bucket.Get().URL))
}

func TestBucket_PrefixIsHostName(t *testing.T) {
	name, err := (&BucketConfig{Prefix: "x"}).prefix()
	require.NoError(t, err)
	assert.Equal(t, "x", name)
	if name, err = (&BucketConfig{}).prefix(); err == nil {
		assert.NoError(t, bucket.CheckPrefix(name))
	} else {
		assert.ErrorContains(t, err, "`bucket::prefix` must be set")
	}
}

// A permanent error of the bucket fails the start of the exporter and names the configuration key.
func TestBucket_Invalid(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	for url, want := range map[string]string{
		"s3://warehouses":                 "`bucket::url`: warehouse: open \"s3://warehouses\": the object store refuses it: no region: add it to the address",
		"file://" + t.TempDir() + "/none": "`bucket::url`: warehouse: open",
	} {
		cfg := inBucket(t)
		cfg.Bucket.Get().URL = url
		require.NoError(t, cfg.Validate())
		e, _ := uploader(t, cfg)
		err := e.Start(t.Context(), componenttest.NewNopHost())
		require.ErrorIs(t, err, bucket.ErrRefused)
		assert.ErrorContains(t, err, want)
		require.NoError(t, e.Shutdown(t.Context()))
	}
}
