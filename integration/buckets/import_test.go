package buckets

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
)

func bring(t *testing.T, p *place, dir string, inject bucket.Injector) (*bucket.Imported, error) {
	t.Helper()
	b, err := bucket.Open(t.Context(), p.address)
	require.NoError(t, err)
	defer b.Close()
	b.Inject(inject)
	return bucket.Import(t.Context(), b, dir, t.TempDir())
}

// twoDates returns an item with rows of two dates.
func twoDates(name string) methodspan.Item {
	it := item(name)
	for i := range it.Rows[:3] {
		it.Rows[i].StartNS -= int64(24 * time.Hour)
		it.Rows[i].EndNS -= int64(24 * time.Hour)
	}
	return it
}

// killedDirectory leaves the directory of a killed collector: with items that were uploaded, some of them
// merged, and with items that were not: of one date, of two, and of a write without its commit.
func killedDirectory(t *testing.T, p *place, prefix string) (dir string) {
	t.Helper()
	o := options(p.address, prefix, t.TempDir())
	c := mustOpen(t, o)
	c.write(t, "sent-1")
	c.write(t, "sent-2")
	require.NoError(t, merge(t.Context(), c, o.Directory))
	require.NoError(t, c.mirror.Push(t.Context()))
	c.write(t, "left-1", "left-2")
	_, err := c.writer.Write(t.Context(), []methodspan.Item{twoDates("left-3"), item("both")})
	require.NoError(t, err)
	c.bucket.Inject(func(string, string, bool) error { return errCrashed })
	require.Error(t, merge(t.Context(), c, o.Directory), "what only the directory has is not merged")
	c.crash()
	return o.Directory
}

var ofAll = storedOnce("sent-1", "sent-2", "left-1", "left-2", "left-3", "both")

// TestImport_PrefixOfAnotherOwner imports while another machine owns the prefix. That machine
// received one of the items again.
func TestImport_PrefixOfAnotherOwner(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		dir := killedDirectory(t, p, "host")
		o := options(p.address, "host", t.TempDir())
		o.Abandoned = time.Nanosecond
		second := mustOpen(t, o)
		second.write(t, "both", "new")
		require.NoError(t, second.mirror.Push(t.Context()))
		require.NoError(t, merge(t.Context(), second, o.Directory))
		require.NoError(t, second.mirror.Push(t.Context()))

		got, err := bring(t, p, dir, nil)
		require.NoError(t, err)
		assert.Equal(t, 3, got.Items)
		assert.Equal(t, int64(3*rowsPerItem), got.Rows)
		assert.Equal(t, 1, got.Repeated)
		assert.Contains(t, got.Address, "/left-")
		want := storedOnce("sent-1", "sent-2", "left-1", "left-2", "left-3", "both", "new")
		assert.Equal(t, want, stored(t, p.address))
		require.NoError(t, second.close())

		// Once more when a third owner has the prefix.
		third := mustOpen(t, options(p.address, "host", t.TempDir()))
		require.NoError(t, third.close())
		again, err := bring(t, p, dir, nil)
		require.NoError(t, err)
		assert.True(t, again.Already)
		assert.Equal(t, want, stored(t, p.address))
	})
}

// TestImport_FreePrefix imports into a prefix without an owner.
func TestImport_FreePrefix(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		dir := killedDirectory(t, p, "host")
		for range 2 {
			got, err := bring(t, p, dir, nil)
			require.NoError(t, err)
			assert.Contains(t, got.Address, "/host")
			assert.Equal(t, ofAll, stored(t, p.address))
		}
	})
}

// TestImport_CrashAtEveryRequest proves that an import is visible completely or not at all, and
// that the next attempt completes it.
func TestImport_CrashAtEveryRequest(t *testing.T) {
	for at := int64(1); ; at++ {
		p := places["directory"](t)
		dir := killedDirectory(t, p, "host")
		o := options(p.address, "host", t.TempDir())
		o.Abandoned = time.Nanosecond
		second := mustOpen(t, o)
		require.NoError(t, second.close())
		// The prefix was released: it has an owner, and a directory that is deleted leaves nothing
		// behind.
		b, err := bucket.Open(t.Context(), p.address)
		require.NoError(t, err)
		require.NoError(t, bucket.Maintain(t.Context(), b, "host", t.TempDir(), 1<<30, func(string, *bucket.Mirror) error { return nil }))
		require.NoError(t, b.Close())
		inject, n := steps(at, at%2 == 0)
		_, err = bring(t, p, dir, inject)
		seen := stored(t, p.address)
		if len(seen) != 2 {
			require.Equal(t, ofAll, seen, "request %d", at)
		}
		if n.Load() < at {
			require.NoError(t, err)
			require.Equal(t, ofAll, seen)
			require.Greater(t, at, int64(15))
			return
		}
		_, err = bring(t, p, dir, nil)
		if err != nil { // until the crashed attempt is given up
			require.ErrorIs(t, err, bucket.ErrTaken)
			require.Contains(t, err.Error(), "try again in")
			continue
		}
		require.Equal(t, ofAll, stored(t, p.address), "request %d", at)
	}
}

func TestImport_Refused(t *testing.T) {
	p, other := places["directory"](t), places["directory"](t)
	dir := killedDirectory(t, p, "host")
	_, err := bring(t, other, dir, nil)
	require.ErrorIs(t, err, bucket.ErrTaken)
	assert.ErrorContains(t, err, "name that bucket")
	_, err = bring(t, p, t.TempDir(), nil)
	require.ErrorIs(t, err, warehouse.ErrMissing)

	o := options(p.address, "host", dir)
	c := mustOpen(t, o)
	_, err = bring(t, p, dir, nil)
	require.ErrorIs(t, err, warehouse.ErrLocked)
	require.NoError(t, c.close())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := bucket.Open(t.Context(), p.address)
	require.NoError(t, err)
	defer b.Close()
	_, err = bucket.Import(ctx, b, dir, t.TempDir())
	require.Error(t, err)
}
