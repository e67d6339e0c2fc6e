package warehouse

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

var testDataset = bigquery.Dataset{Project: "my-project", Name: "corehour"}

func bigQueryConfig(t *testing.T, s *fake.Server) *Config {
	t.Helper()
	cfg, err := load(t, "bigquery: {project: my-project, dataset: corehour, directory: "+strconv.Quote(filepath.Join(t.TempDir(), "state"))+
		", endpoints: {api: "+strconv.Quote(s.Endpoints.API)+", write: "+strconv.Quote(s.Endpoints.Write)+"}}")
	require.NoError(t, err)
	cfg.Queue.Batch.Get().FlushTimeout = 10 * time.Millisecond
	cfg.ShutdownTimeout = patience
	cfg.Retry.InitialInterval = time.Millisecond
	return cfg
}

// Each row is in the table exactly once, whatever fails on the way.
func TestBigQuery_StoresAll(t *testing.T) {
	s := fake.New(t)
	faults := []fake.Fault{fake.None, fake.AckLost, fake.Unavailable, fake.Quota, fake.None, fake.StreamEnded, fake.Internal}
	s.OnAppend = func(n int) fake.Fault { return faults[n%len(faults)] }
	r := newRig(t, bigQueryConfig(t, s)).start()
	for seq := range int64(40) {
		r.send(export{instance: "a", seq: seq + 1, calls: map[string]int64{"a.B": 10 + seq, "a.C": 1}, measured: 5, process: seq%10 == 9})
		r.send(export{instance: "b", seq: seq + 1, calls: map[string]int64{"a.B": 3}, measured: 2})
	}
	r.stop()
	stored := rowTotals{}
	stored.addRows(fake.MethodRows(s.Rows(testDataset)))
	balanced(t, totalsOf(r.in...), stored)
	assert.Positive(t, r.store.Stats().Reconnects)
	assert.Zero(t, r.metric("write_unknown"))
	assert.Zero(t, r.metric("rows_refused"))
	assert.NotNil(t, s.Table(testDataset, "method_calls"))
}

// If the table is dropped while the collector runs, it is created again, a line is logged, and rows are
// written to the new table.
func TestBigQuery_RecreatesTable(t *testing.T) {
	s := fake.New(t)
	r := newRig(t, bigQueryConfig(t, s)).start()
	x := export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 10}, measured: 5}
	r.send(x)
	require.Eventually(t, func() bool { return r.metric("rows_written") > 0 }, patience, time.Millisecond)
	s.Drop(testDataset, bigquery.TableName)
	x.seq = 2
	r.send(x)
	r.stop()
	stored := rowTotals{}
	stored.addRows(fake.MethodRows(s.Rows(testDataset)))
	balanced(t, totalsOf(x.traces()), stored)
	assert.Equal(t, 1, r.logs.FilterMessageSnippet("method_calls was missing and is created again").Len())
}

// A shutdown ends even if the service never answers, and reports the loss.
func TestBigQuery_ShutdownBounded(t *testing.T) {
	s := fake.New(t)
	s.OnAppend = func(int) fake.Fault { return fake.Stuck }
	cfg := bigQueryConfig(t, s)
	cfg.ShutdownTimeout = 100 * time.Millisecond
	cfg.Queue.QueueSize, cfg.Queue.Batch.Get().MinSize = 64, 16
	r := newRig(t, cfg).start()
	for i := range 30 { // more than the queue holds: the others are aggregated
		r.send(busyExport(i))
	}
	begin := time.Now()
	r.stop()
	assert.Less(t, time.Since(begin), lastWrites+30*time.Second)
	assert.Positive(t, r.metric("fold_lost", "what", "calls")+r.metric("write_unknown"))
}

// In an outage longer than the retries, rows that were never sent are aggregated, and stored after the
// outage. Only the write in flight when the outage begins has an unknown outcome: a batch, the aggregate
// of earlier rows, or both.
func TestBigQuery_OutageUnsentIsCertain(t *testing.T) {
	for name, caught := range map[string]struct{ batch, sum bool }{
		"a batch":         {batch: true},
		"a sum":           {sum: true},
		"a batch and sum": {batch: true, sum: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := fake.New(t)
			var fault atomic.Int64
			var begin sync.Once
			s.OnAppend = func(int) fake.Fault { return fake.Fault(fault.Load()) }
			s.OnFinalize = func() error {
				if fake.Fault(fault.Load()) != fake.None {
					return status.Error(codes.Unavailable, "the connection is closed")
				}
				return nil
			}
			cfg := bigQueryConfig(t, s)
			cfg.Retry.MaxElapsedTime = 20 * time.Millisecond
			r := newRig(t, cfg)
			if caught.sum {
				fault.Store(int64(fake.Quota)) // so that there is an aggregate
			}
			r.store.before = func(_ int, items []methodspan.Item) error {
				sum := len(items[len(items)-1].Folds) > 0
				if sum == caught.sum && (!sum || len(items) > 1) == caught.batch {
					begin.Do(func() { fault.Store(int64(fake.Unavailable)) })
				}
				return nil
			}
			r.start()
			next := 0
			sendUntil := func(what string, done func() bool) {
				require.Eventually(t, func() bool {
					r.send(busyExport(next))
					next++
					return done()
				}, patience, 20*time.Millisecond, what)
			}
			sendUntil("the outage begins", func() bool { return fake.Fault(fault.Load()) == fake.Unavailable })
			if caught.batch {
				sendUntil("it is given up", func() bool { return r.metric("write_unknown") > 0 })
			}
			unknown, folded := r.metric("write_unknown"), r.metric("calls_folded")
			sendUntil("others are folded", func() bool { return r.metric("calls_folded") > folded+1000 })
			assert.Equal(t, unknown, r.metric("write_unknown"))
			fault.Store(int64(fake.None))
			r.stop()
			stored := rowTotals{}
			stored.addRows(fake.MethodRows(s.Rows(testDataset)))
			balanced(t, totalsOf(r.in...), stored)
			assert.Zero(t, r.metric("fold_lost"))
		})
	}
}

// A refused row is counted by reason, and a metric shows that it was kept.
func TestBigQuery_Refusals(t *testing.T) {
	s := fake.New(t)
	var once sync.Once
	s.Refuse = func(fake.Row) (why string) {
		once.Do(func() { why = "no" })
		return why
	}
	cfg := bigQueryConfig(t, s)
	cfg.Path = "./elsewhere"
	r := newRig(t, cfg).start()
	assert.Equal(t, 1, r.logs.FilterMessageSnippet("the option path has no effect").Len())
	r.send(export{instance: "a", seq: 1, calls: map[string]int64{"a.B": 10}, measured: 5})
	require.Eventually(t, func() bool { return len(s.Rows(testDataset)) == 5 }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return r.metric("rows_refused", "reason", "invalid") == 1 }, patience, time.Millisecond)
	assert.Equal(t, 1.0, r.metric("bigquery_dead_letters", "outcome", "kept"))
	r.stop()
}

// Every row is counted once, as written or as refused, even if the rest of a request with a refused row
// has an unknown outcome for a while.
func TestBigQuery_RefusalsAfterUnknownOutcome(t *testing.T) {
	s := fake.New(t)
	var once sync.Once
	s.Refuse = func(fake.Row) (why string) {
		once.Do(func() { why = "no" })
		return why
	}
	var down atomic.Bool
	down.Store(true)
	s.OnAppend = func(n int) fake.Fault {
		if n > 1 && down.Load() {
			return fake.AckLost
		}
		return fake.None
	}
	s.OnFinalize = func() error {
		if down.Load() {
			return status.Error(codes.Unavailable, "the connection is closed")
		}
		return nil
	}
	r := newRig(t, bigQueryConfig(t, s)).start()
	x := busyExport(0)
	r.send(x)
	require.Eventually(t, func() bool { return r.metric("write_failures") > 0 }, patience, time.Millisecond)
	down.Store(false)
	r.stop()
	rows := x.traces().SpanCount()
	assert.Len(t, s.Rows(testDataset), rows-1)
	assert.EqualValues(t, rows-1, r.metric("rows_written"))
	assert.EqualValues(t, 1, r.metric("rows_refused", "reason", "invalid"))
	assert.Zero(t, r.metric("duplicate_rows"))
	assert.Zero(t, r.metric("write_unknown"))
}

func TestBigQuery_Config(t *testing.T) {
	for text, want := range map[string]string{
		"path: ./x\nbigquery: {project: my-project, dataset: d}":                                     "",
		"bigquery: {project: P, dataset: d}":                                                         "the project must be the id",
		"bigquery: {project: my-project, dataset: a-b}":                                              "the dataset must be letters, digits",
		"bigquery: {project: my-project, dataset: d, directory: ''}":                                 "`directory` must name",
		"bigquery: {project: my-project, dataset: d, partition_expiration: 1h}":                      "`partition_expiration` must be 0 (for ever) or at least 24h0m0s, found 1h0m0s",
		"bigquery: {project: my-project, dataset: d, partition_expiration: 7d}":                      "`bigquery::partition_expiration` must be 0 (for ever) or at least `parquet::late`, or BigQuery drops rows that are accepted; found 168h0m0s, less than 720h0m0s",
		"parquet: {late: 7d}\nbigquery: {project: my-project, dataset: d, partition_expiration: 7d}": "",
		"bigquery: {project: my-project, dataset: d, dead_letter_bytes: -1}":                         "`dead_letter_bytes` must be positive, found -1",
		"bigquery: {project: my-project, dataset: d, nonsense: 1}":                                   "nonsense",
		"bigquery: {project: my-project, dataset: d, endpoints: {write: 'https://bigquery.test'}}":   "",
		"bigquery: {project: my-project, dataset: d, endpoints: {api: bigquery.test}}":               "`endpoints::api`: it must be a URL like https://bigquery.googleapis.com, found \"bigquery.test\"",
		"bigquery: {project: my-project, dataset: d, endpoints: {write: 'https://me:secret@host'}}":  "`endpoints::write`: it must be without user and password, like https://bigquerystorage.googleapis.com; credentials come from the environment; found \"...@host\"",
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

// Stats returns the statistics of the wrapped store.
func (f *faulty) Stats() (s bigquery.Stats) {
	if b, ok := f.Store.(interface{ Stats() bigquery.Stats }); ok {
		s = b.Stats()
	}
	return s
}

// Watch passes report to the wrapped store.
func (f *faulty) Watch(report func(error)) {
	if l, ok := f.Store.(*bigquery.Loader); ok {
		l.Watch(report)
	}
}
