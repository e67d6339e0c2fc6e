package warehouse

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

func loadConfig(t *testing.T, s *fake.Server, directory string) *Config {
	t.Helper()
	cfg, err := load(t, "bigquery: {project: my-project, dataset: corehour, mode: load, load: {bucket: "+fake.Bucket+", interval: 1h}, directory: "+
		strconv.Quote(directory)+", endpoints: {api: "+strconv.Quote(s.Endpoints.API)+", storage: "+strconv.Quote(s.Endpoints.Storage)+"}}")
	require.NoError(t, err)
	cfg.Queue.Batch.Get().FlushTimeout = 10 * time.Millisecond
	cfg.ShutdownTimeout = patience
	cfg.Retry.InitialInterval = time.Millisecond
	return cfg
}

// All rows are loaded by the end of the shutdown, and repeated requests are recognised after a restart.
func TestBigQueryLoad_StoresAll(t *testing.T) {
	s := fake.New(t)
	s.Polls = 1
	cfg := loadConfig(t, s, filepath.Join(t.TempDir(), "state"))
	r := newRig(t, cfg).start()
	for seq := range int64(20) {
		r.send(export{instance: "a", seq: seq + 1, calls: map[string]int64{"a.B": 10 + seq, "a.C": 1}, measured: 5, process: seq%10 == 9})
		r.send(export{instance: "b", seq: seq + 1, calls: map[string]int64{"a.B": 3}, measured: 2})
	}
	require.Eventually(t, func() bool { return r.metric("bigquery_spool_size") > 0 }, patience, time.Millisecond)
	assert.Empty(t, s.Rows(testDataset))
	assert.GreaterOrEqual(t, r.metric("bigquery_spool_age"), 0.0)
	r.stop()
	stored := rowTotals{}
	stored.addRows(fake.MethodRows(s.Rows(testDataset)))
	balanced(t, totalsOf(r.in...), stored)
	n := len(s.Rows(testDataset))
	assert.Equal(t, int64(n), r.store.Stats().LoadedRows)
	assert.Equal(t, 1, s.Loads())
	assert.Empty(t, s.Objects())

	again := newRig(t, cfg).start()
	again.send(export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 10, "a.C": 1}, measured: 5})
	require.Eventually(t, func() bool { return again.metric("duplicate_rows") > 0 }, patience, time.Millisecond)
	again.stop()
	assert.Len(t, s.Rows(testDataset), n)
}

// Failed loads are logged once, with the reason, and change the component status.
func TestBigQueryLoad_Failures(t *testing.T) {
	s := fake.New(t)
	s.OnLoad = func(n int) *bigquery.JobError {
		if n <= 2 {
			return &bigquery.JobError{Reason: "quotaExceeded", Message: "too many jobs"}
		}
		return nil
	}
	host := &statusHost{}
	r := newRig(t, loadConfig(t, s, filepath.Join(t.TempDir(), "state")))
	require.NoError(t, r.Start(context.Background(), host))
	l := r.store.Store.(*bigquery.Loader)
	r.send(export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 10}, measured: 5})
	require.Eventually(t, func() bool { return r.metric("bigquery_spool_size") > 0 }, patience, time.Millisecond)
	for range 3 {
		_ = l.Round(t.Context(), true)
	}
	assert.Equal(t, 2.0, r.metric("bigquery_load_jobs", "outcome", "failed"))
	assert.Equal(t, 1.0, r.metric("bigquery_load_jobs", "outcome", "loaded"))
	assert.Zero(t, r.metric("bigquery_spool_size"))
	assert.Zero(t, r.metric("bigquery_spool_age"))
	assert.Positive(t, r.metric("bigquery_loaded_rows"))
	r.stop()
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.reported())
	failures := r.logs.FilterMessageSnippet("Loading into BigQuery fails").All()
	require.Len(t, failures, 1)
	assert.Contains(t, failures[0].ContextMap()["error"], "too many jobs (quotaExceeded)")
}

// Rows that wait for load jobs leave as much disk space free as a warehouse directory does.
func TestBigQueryLoad_LeavesSpaceFree(t *testing.T) {
	s := fake.New(t)
	cfg := loadConfig(t, s, t.TempDir())
	cfg.Disk.MinFreeBytes = 1 << 62
	sink, err := openBigQuery(cfg, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, sink.Close()) }()
	items := []methodspan.Item{{ID: "a-1", Rows: []methodspan.Row{{BatchID: "a-1", StartNS: time.Now().UnixNano(), Resource: &methodspan.Resource{}}}}}
	_, err = sink.Write(t.Context(), items)
	assert.ErrorIs(t, err, warehouse.ErrFull)
	assert.ErrorContains(t, err, "must stay free")
}

func TestBigQueryLoad_Config(t *testing.T) {
	const begin = "bigquery: {project: my-project, dataset: d, "
	for text, want := range map[string]string{
		begin + "mode: storage-write}":                  `did you mean "storage_write"?`,
		begin + "mode: batch}":                          "`mode` must be \"storage_write\" or \"load\", found \"batch\"",
		begin + "mode: load}":                           "`load::bucket` must name a Cloud Storage bucket",
		begin + "mode: load, load: {}}":                 "`bucket`: it must be the name of a Cloud Storage bucket",
		begin + "mode: load, load: {bucket: 'gs://b'}}": "without gs://",
		begin + "load: {bucket: my-bucket}}":            "`load` has no effect with `mode: storage_write`",
		begin + "endpoints: {storage: 'http://x'}}":     "`endpoints::storage` has no effect with `mode: storage_write`",
		begin + "mode: load, load: {bucket: my-bucket}, endpoints: {write: 'http://x'}}": "`endpoints::write` has no effect with `mode: load`",
		begin + "mode: load, load: {bucket: my-bucket, interval: 10s}}":                  "`interval` must be at least 1m0s, because a table takes 1,500 load jobs a day, found 10s",
		begin + "mode: load, load: {bucket: my-bucket, spool_bytes: 0}}":                 "`spool_bytes` must be positive, found 0",
		begin + "mode: load, load: {bucket: my-bucket, jobs_in_flight: 0}}":              "`jobs_in_flight` must be from 1 to 100, found 0",
		begin + "mode: load, load: {bucket: my-bucket, prefix: 'a*'}}":                   "`prefix`: it must be",
		begin + "mode: load, load: {bucket: my-bucket, buckets: 1}}":                     "buckets",
		begin + "mode: load, load: {bucket: my-bucket}}":                                 "",
	} {
		_, err := load(t, text)
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		require.Error(t, err, text)
		assert.True(t, strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
}
