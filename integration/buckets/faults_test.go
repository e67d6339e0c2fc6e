package buckets

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/maintain"
)

// collectorWork is a collector's work in the crash tests: it writes, merges, deletes the merged files, and
// sends heartbeats in between. It ends at the first error.
func collectorWork(t *testing.T, c *collector, o bucket.Options) error {
	for _, name := range []string{"a", "b"} {
		c.write(t, name)
		if err := c.mirror.Push(t.Context()); err != nil {
			return err
		}
	}
	if err := merge(t.Context(), c, o.Directory); err != nil {
		return err
	}
	if err := c.mirror.Push(t.Context()); err != nil {
		return err
	}
	return c.close()
}

// merge makes one file of the files of each date.
func merge(ctx context.Context, c *collector, dir string) error {
	job := maintain.Job{Root: dir, Policy: maintain.Policy{MaxFiles: 2}, Fetch: c.mirror.Fetch}
	job.Policy.MaxFiles = 1
	_, err := job.Run(ctx)
	return err
}

// steps returns an injector that fails all requests from a number on: the first before or after it
// took effect, the others before.
func steps(from int64, after bool) (bucket.Injector, *atomic.Int64) {
	var n atomic.Int64
	return func(_, _ string, then bool) error {
		if !then {
			n.Add(1)
		}
		if at := n.Load(); at > from || at == from && then == after {
			return errCrashed
		}
		return nil
	}, &n
}

// TestCollector_CrashAtEveryRequest ends a collector at every request that it makes, before and
// after the request took effect. Readers see committed rows only. The next start, with the
// directory or without, loses none of them and stores nothing twice.
func TestCollector_CrashAtEveryRequest(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		counting, n := steps(1<<40, false)
		o := options(p.address, "count", t.TempDir())
		o.Grace = time.Nanosecond
		c, err := open(t, o, counting)
		require.NoError(t, err)
		require.NoError(t, collectorWork(t, c, o))
		all := n.Load()
		require.Greater(t, all, int64(30))

		stride := int64(2)
		if p.faults != nil {
			stride = 9 // the protocol's own faults have their own tests
		}
		for at := int64(1); at <= all; at += stride {
			for _, after := range []bool{false, true} {
				for _, lost := range []bool{false, true} {
					crashAt(t, places[t.Name()[len("TestCollector_CrashAtEveryRequest/"):]](t), at, after, lost)
				}
			}
		}
	})
}

func crashAt(t *testing.T, p *place, at int64, after, lost bool) {
	t.Helper()
	what := fmt.Sprintf("request %d, after it %v, directory lost %v", at, after, lost)
	o := options(p.address, "host", t.TempDir())
	o.Grace = time.Nanosecond
	inject, _ := steps(at, after)
	c, err := open(t, o, inject)
	written := map[string]int{}
	if err == nil {
		err = collectorWork(t, c, o)
		for _, name := range []string{"a", "b"} {
			if c.writer.Committed(name) {
				written[name] = rowsPerItem
			}
		}
		c.crash()
	}
	seen := stored(t, p.address)
	if err == nil {
		require.Equal(t, storedOnce("a", "b"), seen, what) // the failed requests were not needed
	}
	for name, rows := range seen {
		require.Equal(t, written[name], rows, "%s: %s", what, name)
	}
	o.Abandoned = time.Nanosecond
	if lost {
		o.Directory = t.TempDir()
		written = maps.Clone(seen)
	}
	c, err = open(t, o, nil)
	require.NoError(t, err, what)
	for name := range written {
		require.Equal(t, 1, c.write(t, name).DuplicateItems, what)
	}
	c.write(t, "z")
	require.NoError(t, c.close(), what)
	written["z"] = rowsPerItem
	require.Equal(t, written, stored(t, p.address), what)
}

// TestCollector_LostAnswers carries out requests and drops their answers.
func TestCollector_LostAnswers(t *testing.T) {
	overProtocols(t, func(t *testing.T, p *place) {
		o := options(p.address, "host", t.TempDir())
		o.Grace = time.Nanosecond
		p.faults.loseEvery.Store(5)
		var c *collector
		var err error
		for range 20 {
			if c, err = open(t, o, nil); err == nil {
				break
			}
		}
		require.NoError(t, err)
		var names []string
		for i := range 6 {
			names = append(names, fmt.Sprint("item-", i))
			c.write(t, names[i])
			for range 20 {
				if err = c.mirror.Push(t.Context()); err == nil {
					break
				}
				require.NotErrorIs(t, err, bucket.ErrTaken)
			}
			require.NoError(t, err)
			assert.Equal(t, storedOnce(names...), stored(t, p.address))
			if i == 3 {
				require.NoError(t, merge(t.Context(), c, o.Directory))
			}
		}
		assert.Positive(t, p.faults.lost.Load())
		p.faults.loseEvery.Store(0)
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce(names...), stored(t, p.address))
	})
}

// TestCollector_UncommittedObjects starts a collector where a lost one left objects that were
// uploaded and never committed. Their names are used again.
func TestCollector_UncommittedObjects(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		c := mustOpen(t, options(p.address, "host", t.TempDir()))
		c.write(t, "a")
		require.NoError(t, c.mirror.Push(t.Context()))
		c.write(t, "never-acknowledged-by-the-bucket")
		c.bucket.Inject(func(op, key string, _ bool) error {
			if op == "create" && len(key) > 12 && key[len(key)-len("000000000000.json"):len(key)-5] == "000000000003" {
				return errCrashed // the commit, and manifests of that number
			}
			return nil
		})
		_ = c.mirror.Push(t.Context())
		c.crash()
		o := options(p.address, "host", t.TempDir())
		o.Abandoned = time.Nanosecond
		c = mustOpen(t, o)
		c.write(t, "other", "contents")
		require.NoError(t, c.mirror.Push(t.Context()))
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "other", "contents"), stored(t, p.address))
	})
}

func TestReader_DamagedObjects(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		c := mustOpen(t, options(p.address, "host", t.TempDir()))
		c.write(t, "a")
		require.NoError(t, c.close())
		day := itemTime.UTC().Format(time.DateOnly)
		require.NoError(t, p.put("host/date="+day+"/raw-000000000001.parquet", []byte("spoiled")))
		b, err := bucket.Open(t.Context(), p.address)
		require.NoError(t, err)
		defer b.Close()
		cache, err := bucket.OpenCache(t.TempDir(), 1<<30)
		require.NoError(t, err)
		defer cache.Close()
		_, _, err = cache.Snapshot(t.Context(), b, bucket.Read{})
		require.ErrorIs(t, err, warehouse.ErrCorrupt)
		assert.Contains(t, err.Error(), "host/date="+day+"/raw-000000000001.parquet")
	})
}
