package warehouse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	contrib "github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/corehour/corehour/extension/filestorage"
	"github.com/corehour/corehour/internal/methodspan"
)

// anyRequest returns a random request, which can contain rows of any kind or none.
func anyRequest(seed uint64) *request {
	rng := rand.New(rand.NewPCG(seed, 9))
	var items []methodspan.Item
	for i := range rng.IntN(4) {
		item := methodspan.Item{ID: fmt.Sprintf("p-%d", i), Rows: randomRows(rng, rng.IntN(20))}
		for j := range rng.IntN(3) {
			item.Folds = append(item.Folds, fmt.Sprintf("p-%d", 100*i+j))
		}
		resources := map[string]*methodspan.Resource{}
		for j := range item.Rows {
			r := &item.Rows[j]
			r.BatchID = item.ID
			if resources[r.Resource.Instance] == nil {
				resources[r.Resource.Instance] = r.Resource
			}
			r.Resource = resources[r.Resource.Instance]
			r.Resource.HostID = "id-" + r.Resource.Instance
			if rng.IntN(5) == 0 {
				r.Resource = nil
			}
			if rng.IntN(2) == 0 {
				r.TraceID[3], r.SpanID[1], r.ParentSpanID[7] = 1, 2, 3
				r.WallHist = methodspan.Histogram{{Bin: -3, N: 0.5}, {Bin: 7, N: 1e9}}
				r.CPUSq, r.RequestID, r.Signature = 4, "r\x00\xff", "(int)"
			}
			if r.Process != nil {
				r.Process.Final = true
				r.Process.HostCores, r.Process.CPULimit = 16, 0.5
				r.Process.Stats = []methodspan.Stat{{Name: "queue", Value: -1.5}}
			}
		}
		items = append(items, item)
	}
	return newRequest(items...)
}

func TestEncoding_RoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		want := anyRequest(seed)
		data, err := encoding{}.Marshal(context.Background(), want)
		require.NoError(t, err)
		got, err := decode(data)
		require.NoError(t, err)
		require.Equal(t, want.rows, got.ItemsCount())
		require.Len(t, got.items, len(want.items))
		for i, item := range got.items {
			require.Equal(t, want.items[i].ID, item.ID)
			require.Equal(t, want.items[i].Folds, item.Folds)
			require.Len(t, item.Rows, len(want.items[i].Rows))
			for j := range item.Rows {
				require.Equal(t, want.items[i].Rows[j], item.Rows[j])
			}
		}
		// A truncated request is an error and does not panic.
		for n := int(seed % 13); n < len(data); n += 13 {
			if _, err := decode(data[:n]); err == nil {
				t.Fatalf("seed %d: %d of %d bytes are a request", seed, n, len(data))
			}
		}
	}
}

func FuzzDecoding(f *testing.F) {
	for seed := range uint64(8) {
		data, err := encoding{}.Marshal(context.Background(), anyRequest(seed))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte{})
	f.Add([]byte{encodingVersion})
	f.Add([]byte{encodingVersion + 1, 0, 0, 0})
	f.Add([]byte{encodingVersion, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := decode(data)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := encoding{}.Marshal(context.Background(), req)
		require.NoError(t, err)
		_, err = decode(again)
		require.NoError(t, err)
	})
}

func TestEncoding_CountsDamagedRequests(t *testing.T) {
	r := newRig(t, testConfig(t))
	_, _, err := encoding{r.telemetry.damaged}.Unmarshal([]byte("garbage"))
	require.ErrorIs(t, err, errDamaged)
	assert.EqualValues(t, 1, r.metric("requests_damaged"))
	r.stop()
}

// A queue on a full disk asks for requests that it refused. They were aggregated and are not damaged.
func TestEncoding_UnwrittenRequestNotDamaged(t *testing.T) {
	r := newRig(t, testConfig(t))
	for _, nothing := range [][]byte{nil, {}} {
		_, req, err := encoding{r.telemetry.damaged}.Unmarshal(nothing)
		require.ErrorIs(t, err, errNeverWritten)
		assert.Nil(t, req)
	}
	assert.Zero(t, r.metric("requests_damaged"))
	r.stop()
}

// storageHost is a host with one storage extension.
type storageHost struct {
	id  component.ID
	ext component.Component
}

func (h storageHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{h.id: h.ext}
}

// storedQueue returns a configuration with a persistent queue and a shutdown timeout so short that
// writes are interrupted.
func storedQueue(t *testing.T) *Config {
	cfg := testConfig(t)
	id := component.MustNewID("file_storage")
	cfg.Queue.StorageID = &id
	cfg.Queue.QueueSize = 10_000
	cfg.ShutdownTimeout = 50 * time.Millisecond
	return cfg
}

// startStored starts the exporter and the storage of its queue.
func (r *rig) startStored() (stop func()) {
	r.t.Helper()
	factory := filestorage.NewFactory()
	fcfg := factory.CreateDefaultConfig().(*contrib.Config)
	fcfg.Directory, fcfg.CreateDirectory = filepath.Join(filepath.Dir(r.cfg.Path), "queue"), true
	ext, err := factory.Create(context.Background(), extensiontest.NewNopSettings(factory.Type()), fcfg)
	require.NoError(r.t, err)
	require.NoError(r.t, ext.Start(context.Background(), componenttest.NewNopHost()))
	require.NoError(r.t, r.Start(context.Background(), storageHost{*r.cfg.Queue.StorageID, ext}))
	return func() {
		r.stop()
		require.NoError(r.t, ext.Shutdown(context.Background()))
	}
}

// With a storage extension the queue outlives the collector. The next collector stores the rest of the
// queue exactly once, including rows that were stored and never acknowledged.
func TestPersistentQueue(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		t.Run(fmt.Sprintf("unknown=%v", unknown), func(t *testing.T) { testPersistentQueue(t, unknown) })
	}
}

func testPersistentQueue(t *testing.T, unknown bool) {
	cfg := storedQueue(t)
	cfg.Queue.Batch.Get().MinSize = 100
	first := newRig(t, cfg)
	stored := make(chan struct{})
	if unknown {
		var once sync.Once
		first.store.after = func(int) error { once.Do(func() { close(stored) }); return errUnsure }
	} else {
		first.store.before = func(int, []methodspan.Item) error { return errBroken }
	}
	stop := first.startStored()
	for i := range 50 {
		first.send(busyExport(i))
	}
	if unknown {
		<-stored
	}
	stop()
	assert.Zero(t, first.metric("calls_folded"))
	assert.Zero(t, first.metric("write_unknown"))

	cfg.ShutdownTimeout = time.Minute
	second := newRig(t, cfg)
	rows := 0
	for _, td := range first.in {
		rows += td.SpanCount()
	}
	stop = second.startStored()
	require.Eventually(t, func() bool {
		return second.metric("rows_written")+second.metric("duplicate_rows") > float64(rows)-100
	}, patience, 10*time.Millisecond, "all but a batch that is waiting for more")
	stop()
	balanced(t, totalsOf(first.in...), storedTotals(t, cfg.Path))
	if unknown {
		assert.Positive(t, second.metric("duplicate_rows"))
	}
	third := newRig(t, cfg)
	third.startStored()()
	assert.Zero(t, third.metric("rows_written"), "the queue must be empty by now")
}
