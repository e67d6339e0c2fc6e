package buckets

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// compact merges the files of a released prefix like `corehour compact` does.
func compact(t *testing.T, p *place, prefix string) {
	t.Helper()
	b, err := bucket.Open(t.Context(), p.address)
	require.NoError(t, err)
	defer b.Close()
	steps := 0
	require.NoError(t, bucket.Maintain(t.Context(), b, prefix, t.TempDir(), 1<<30, func(dir string, m *bucket.Mirror) error {
		job := maintain.Job{Root: dir, Policy: maintain.Policy{MaxFiles: 1}, Fetch: m.Fetch, Parquet: table.Options{}.Inject(noFaults)}
		report, err := job.Run(t.Context())
		steps = len(report.Steps)
		return err
	}))
	require.Positive(t, steps)
}

// releasedDirectory leaves a directory whose prefix was released, with items of two dates.
func releasedDirectory(t *testing.T, p *place) (o bucket.Options) {
	t.Helper()
	o = options(p.address, "host", t.TempDir())
	c := mustOpen(t, o)
	c.write(t, "a")
	c.writeBoth(t, "b")
	c.writeBoth(t, "c")
	require.NoError(t, c.close())
	return o
}

func (c *collector) writeBoth(t *testing.T, name string) {
	t.Helper()
	_, err := c.writer.Write(t.Context(), []methodspan.Item{twoDates(name)})
	require.NoError(t, err)
}

func away(string, string, bool) error { return errCrashed }

// TestOutage_PrefixWasCompacted starts a collector while the store is away. It writes before the
// store answers, while it is asked and afterwards, and the prefix was compacted in the meantime.
// The store goes away again at every request, before or after it took effect; then the same process
// continues, or the next one.
func TestOutage_PrefixWasCompacted(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	scene := func(t *testing.T, p *place, at int64, after, restart bool) (requests int64) {
		what := fmt.Sprintf("request %d, after it %v, restart %v", at, after, restart)
		o := releasedDirectory(t, p)
		compact(t, p, "host")
		c, err := open(t, o, away)
		require.NoError(t, err)
		c.write(t, "early")
		c.writeBoth(t, "early-2")
		faults, n := steps(at, after)
		written := 0
		c.bucket.Inject(func(op, key string, then bool) error {
			if op == "list" && then {
				c.writeBoth(t, fmt.Sprint("asked-", written))
				written++
			}
			return faults(op, key, then)
		})
		err = c.mirror.Push(t.Context())
		require.Equal(t, at > n.Load(), err == nil, "%s: %v", what, err)
		require.NotErrorIs(t, err, bucket.ErrTaken, what)
		requests = n.Load()
		if restart {
			c.crash()
			c = mustOpen(t, o)
		}
		c.bucket.Inject(nil)
		c.writeBoth(t, "late")
		require.NoError(t, c.mirror.Push(t.Context()), what)
		want := storedOnce("a", "b", "c", "early", "early-2", "late")
		for i := range written {
			want[fmt.Sprint("asked-", i)] = rowsPerItem
		}
		require.Equal(t, want, stored(t, p.address), what)
		require.Equal(t, 1, c.write(t, "early").DuplicateItems, what)
		require.NoError(t, merge(t.Context(), c, o.Directory), what)
		require.NoError(t, c.close(), what)
		c = mustOpen(t, o)
		require.Equal(t, 2, c.write(t, "a", "late").DuplicateItems, what)
		require.NoError(t, c.close(), what)
		require.Equal(t, want, stored(t, p.address), what)
		entries, err := os.ReadDir(filepath.Join(o.Directory, "_theirs"))
		require.ErrorIs(t, err, os.ErrNotExist, "%s: %v", what, entries)
		return requests
	}
	overAllStores(t, func(t *testing.T, p *place) {
		all := scene(t, p, 1<<40, false, false)
		require.Greater(t, all, int64(10))
		stride := int64(3)
		if p.faults != nil {
			stride = 17 // the protocol's own faults have their own tests
		}
		open := places[t.Name()[len("TestOutage_PrefixWasCompacted/"):]]
		for at := int64(1); at <= all; at += stride {
			for _, restart := range []bool{false, true} {
				scene(t, open(t), at, at%2 == 0, restart)
			}
		}
	})
}

// TestOutage_PrefixWasWritten: another collector has written to the prefix before the store
// answers. Without rows of its own the first one continues from there; with some it reports the
// conflict, and its rows are imported.
func TestOutage_PrefixWasWritten(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		o := releasedDirectory(t, p)
		other := mustOpen(t, options(p.address, "host", t.TempDir()))
		for _, name := range []string{"x", "y", "z"} {
			other.write(t, name)
		}
		require.NoError(t, other.close())
		c, err := open(t, o, away)
		require.NoError(t, err)
		c.bucket.Inject(nil)
		require.NoError(t, c.mirror.Push(t.Context()))
		assert.Equal(t, 1, c.write(t, "y", "d").DuplicateItems)
		c.write(t, "e")
		require.NoError(t, c.close())
		want := storedOnce("a", "b", "c", "d", "e", "x", "y", "z")
		assert.Equal(t, want, stored(t, p.address))

		other = mustOpen(t, options(p.address, "host", t.TempDir()))
		other.write(t, "f")
		require.NoError(t, other.close())
		c, err = open(t, o, away)
		require.NoError(t, err)
		wrote := false
		c.bucket.Inject(func(op, _ string, then bool) error {
			if op == "list" && then && !wrote {
				wrote = true
				c.write(t, "g")
			}
			return nil
		})
		err = c.mirror.Push(t.Context())
		require.ErrorIs(t, err, bucket.ErrTaken)
		assert.ErrorContains(t, err, "corehour compact --import")
		require.ErrorIs(t, c.mirror.Lost(), bucket.ErrTaken)
		assert.True(t, c.writer.Committed("g"))
		require.Error(t, c.close())
		want["f"] = rowsPerItem
		assert.Equal(t, want, stored(t, p.address))
		_, err = open(t, o, nil)
		require.ErrorIs(t, err, bucket.ErrTaken)

		got, err := bring(t, p, o.Directory, nil)
		require.NoError(t, err)
		assert.Equal(t, 1, got.Items)
		want["g"] = rowsPerItem
		assert.Equal(t, want, stored(t, p.address))
	})
}

// TestOutage_ImportedRowsStayOnce: the rows of a directory were imported after maintenance had
// taken the prefix over, and then its collector comes back.
func TestOutage_ImportedRowsStayOnce(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		o := releasedDirectory(t, p)
		c := mustOpen(t, o)
		require.NoError(t, c.mirror.Push(t.Context()))
		c.write(t, "left")
		c.crash()
		take := options(p.address, "host", t.TempDir())
		take.Abandoned, take.Scratch = time.Nanosecond, true
		maintenance := mustOpen(t, take)
		require.NoError(t, merge(t.Context(), maintenance, take.Directory))
		require.NoError(t, maintenance.close())

		got, err := bring(t, p, o.Directory, nil)
		require.NoError(t, err)
		require.Contains(t, got.Address, "/left-")
		_, err = open(t, o, nil)
		require.ErrorIs(t, err, bucket.ErrTaken)
		assert.ErrorContains(t, err, got.Address)
		assert.Equal(t, storedOnce("a", "b", "c", "left"), stored(t, p.address))
	})
}
