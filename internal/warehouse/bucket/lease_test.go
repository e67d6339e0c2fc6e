package bucket

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// age moves the commits of a file:// bucket back in time.
func age(t *testing.T, root string, by time.Duration) {
	t.Helper()
	commits, err := filepath.Glob(filepath.Join(root, "*", "_commit", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, commits)
	for _, c := range commits {
		at := time.Now().Add(-by)
		require.NoError(t, os.Chtimes(c, at, at))
	}
}

// A killed owner keeps the prefix for the lease in its last commit.
func TestLease_KilledOwner(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		left string
	}{
		{90 * time.Second, "try again in 30s"},
		{125 * time.Second, ""},
	} {
		root := t.TempDir()
		o := Options{Address: "file://" + root, Prefix: "host-1", Directory: t.TempDir()}
		b, err := Open(t.Context(), o.Address)
		require.NoError(t, err)
		w, err := b.Writer(t.Context(), o, table.Options{})
		require.NoError(t, err)
		write(t, w, "a")
		require.NoError(t, w.Push(t.Context()))
		b.Inject(away)
		require.Error(t, w.Close())
		age(t, root, c.age)

		o.Directory = t.TempDir()
		w, err = NewWriter(t.Context(), o, table.Options{})
		if c.left != "" {
			require.ErrorIs(t, err, ErrTaken)
			require.ErrorContains(t, err, c.left)
			continue
		}
		require.NoError(t, err)
		assert.True(t, w.Committed("a"))
		require.NoError(t, w.Close())
	}
}

// TestHeartbeat_IdleOwner checks that the heartbeat is sent at the next interval, not at the one after it.
func TestHeartbeat_IdleOwner(t *testing.T) {
	w, err := NewWriter(t.Context(), Options{Address: "file://" + t.TempDir(), Prefix: "host-1", Directory: t.TempDir()}, table.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Push(t.Context()))
	assert.EqualValues(t, 1, w.marker.Number)
	w.last = w.last.Add(-DefaultInterval + time.Second)
	require.NoError(t, w.Push(t.Context()))
	assert.EqualValues(t, 2, w.marker.Number)
	require.NoError(t, w.Close())
}

// TestLease_LongUpload lets leases end while files are uploaded, and another collector asks for the prefix.
// The first collector is stopped at every request, before or after the request took effect.
func TestLease_LongUpload(t *testing.T) {
	scene := func(at int64, after bool) (requests int64) {
		what := fmt.Sprintf("request %d, after it %v", at, after)
		root := t.TempDir()
		o := Options{Address: "file://" + root, Prefix: "host-1", Directory: t.TempDir()}
		b, err := Open(t.Context(), o.Address)
		require.NoError(t, err)
		w, err := b.Writer(t.Context(), o, table.Options{})
		require.NoError(t, err)
		var items []methodspan.Item
		for i := range parallel + 4 { // the last uploads begin when others have ended
			items = append(items, row(fmt.Sprint("item-", i), 10))
			_, err := w.Write(t.Context(), items[i:])
			require.NoError(t, err)
		}
		var n, asked atomic.Int64
		age(t, root, time.Hour)
		w.last = time.Time{} // an hour ago
		b.Inject(func(op, key string, then bool) error {
			if op == "create" && strings.Contains(key, "/date=") && !then {
				w.beat.Lock()
				if !w.last.IsZero() { // there was a heartbeat
					other := o
					other.Directory = t.TempDir()
					_, err := NewWriter(t.Context(), other, table.Options{})
					assert.ErrorIs(t, err, ErrTaken, what)
					asked.Add(1)
					age(t, root, time.Hour)
					w.last = time.Time{}
				}
				w.beat.Unlock()
			}
			if !then {
				n.Add(1)
			}
			if i := n.Load(); i > at || i == at && then == after {
				return errAway
			}
			return nil
		})
		err = w.Push(t.Context())
		require.Equal(t, at > n.Load(), err == nil, "%s: %v", what, err)
		require.NotErrorIs(t, err, ErrTaken, what)
		if err == nil {
			require.Greater(t, asked.Load(), int64(1), what)
		}
		b.Inject(away)
		require.Error(t, w.Close(), what)
		w, err = NewWriter(t.Context(), o, table.Options{})
		require.NoError(t, err, what)
		res, err := w.Write(t.Context(), append(items, row("more", 10)))
		require.NoError(t, err, what)
		require.Equal(t, len(items), res.DuplicateItems, what)
		require.NoError(t, w.Close(), what)
		require.EqualValues(t, 10*len(items)+10, rowsIn(t, o.Address), what)
		return n.Load()
	}
	all := scene(1<<40, false)
	require.Greater(t, all, int64(12))
	for at := int64(1); at <= all; at++ {
		scene(at, at%2 == 0)
	}
}
