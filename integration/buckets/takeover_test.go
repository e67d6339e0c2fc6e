package buckets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// noCommit is a store that accepts everything but commits.
func noCommit(op, key string, then bool) error {
	if op == "create" && strings.Contains(key, "_commit/0") && !then {
		return errCrashed
	}
	return nil
}

// takeOverAndMerge takes over the prefix of a collector that did not release it, and merges.
func takeOverAndMerge(t *testing.T, p *place) {
	t.Helper()
	take := options(p.address, "host", t.TempDir())
	take.Abandoned, take.Scratch = time.Nanosecond, true
	m := mustOpen(t, take)
	require.NoError(t, merge(t.Context(), m, take.Directory))
	require.NoError(t, m.close())
}

func writtenByAnother(t *testing.T, p *place, name string) {
	t.Helper()
	other := mustOpen(t, options(p.address, "host", t.TempDir()))
	other.write(t, name)
	require.NoError(t, other.close())
}

// TestTakeover_ImportWithoutItsCommit: a directory has taken over the rows of another owner, its
// commit has not got through, and a third owner has the prefix now. The rows that only the
// directory has are imported.
func TestTakeover_ImportWithoutItsCommit(t *testing.T) {
	for name, first := range map[string]func(string, string, bool) error{"started early": away, "in order": noCommit} {
		t.Run(name, func(t *testing.T) {
			p := places["directory"](t)
			o := releasedDirectory(t, p)
			writtenByAnother(t, p, "x")
			c, err := open(t, o, first)
			require.NoError(t, err)
			c.bucket.Inject(noCommit)
			require.Error(t, c.mirror.Push(t.Context()))
			c.write(t, "g")
			c.crash()
			writtenByAnother(t, p, "y")
			_, err = open(t, o, nil)
			require.ErrorIs(t, err, bucket.ErrTaken)
			got, err := bring(t, p, o.Directory, nil)
			require.NoError(t, err)
			assert.Equal(t, 1, got.Items)
			assert.Equal(t, storedOnce("a", "b", "c", "g", "x", "y"), stored(t, p.address))
		})
	}
}

// TestTakeover_ReportedAtOnce: the directory has taken over the rows of another owner, and the
// marker that follows is not written.
func TestTakeover_ReportedAtOnce(t *testing.T) {
	p := places["directory"](t)
	o := releasedDirectory(t, p)
	writtenByAnother(t, p, "x")
	c, err := open(t, o, away)
	require.NoError(t, err)
	marker := filepath.Join(o.Directory, table.SpoolName)
	before, err := os.ReadFile(marker)
	require.NoError(t, err)
	c.bucket.Inject(noCommit)
	require.Error(t, c.mirror.Push(t.Context()))
	require.NoError(t, os.WriteFile(marker, before, 0o600))
	c.bucket.Inject(nil)
	c.write(t, "g")
	require.NoError(t, c.mirror.Push(t.Context()))
	require.NoError(t, c.close())
	assert.Equal(t, storedOnce("a", "b", "c", "g", "x"), stored(t, p.address))
}

// TestTakeover_NoStartOnceImported: rows written after an import would be in no import.
func TestTakeover_NoStartOnceImported(t *testing.T) {
	p := places["directory"](t)
	o := releasedDirectory(t, p)
	c := mustOpen(t, o)
	require.NoError(t, c.mirror.Push(t.Context()))
	c.write(t, "left")
	c.crash()
	takeOverAndMerge(t, p)
	_, err := bring(t, p, o.Directory, nil)
	require.NoError(t, err)
	_, err = open(t, o, away)
	require.ErrorIs(t, err, errCrashed)
	assert.Equal(t, storedOnce("a", "b", "c", "left"), stored(t, p.address))
}

// TestTakeover_MaintenanceAfterAnOutage: maintenance that owns the prefix for a while stops no
// collector for good, whether the collector meets it at the start or later.
func TestTakeover_MaintenanceAfterAnOutage(t *testing.T) {
	t.Run("met", func(t *testing.T) {
		p := places["directory"](t)
		c, err := open(t, releasedDirectory(t, p), away)
		require.NoError(t, err)
		c.write(t, "early")
		c.bucket.Inject(nil)
		b, err := bucket.Open(t.Context(), p.address)
		require.NoError(t, err)
		defer b.Close()
		require.NoError(t, bucket.Maintain(t.Context(), b, "host", t.TempDir(), 1<<30, func(string, *bucket.Mirror) error {
			require.ErrorIs(t, c.mirror.Push(t.Context()), bucket.ErrTaken)
			require.ErrorIs(t, c.mirror.Lost(), bucket.ErrTaken)
			return nil
		}))
		require.NoError(t, c.mirror.Push(t.Context()))
		require.NoError(t, c.mirror.Lost())
		c.write(t, "late")
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b", "c", "early", "late"), stored(t, p.address))
	})
	t.Run("in between", func(t *testing.T) {
		p := places["directory"](t)
		c, err := open(t, releasedDirectory(t, p), away)
		require.NoError(t, err)
		c.write(t, "early")
		done := false
		c.bucket.Inject(func(op, key string, then bool) error {
			if noCommit(op, key, then) != nil && !done {
				done = true
				compact(t, p, "host")
			}
			return nil
		})
		require.ErrorIs(t, c.mirror.Push(t.Context()), bucket.ErrTaken)
		require.NoError(t, c.mirror.Push(t.Context()))
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b", "c", "early"), stored(t, p.address))
	})
}

// TestTakeover_LeftoverManifests: a kill leaves fetched manifests of another owner.
func TestTakeover_LeftoverManifests(t *testing.T) {
	p := places["directory"](t)
	o := releasedDirectory(t, p)
	compact(t, p, "host")
	c, err := open(t, o, away)
	require.NoError(t, err)
	c.write(t, "early")
	killed := t.TempDir()
	c.bucket.Inject(func(op, key string, then bool) error {
		err := noCommit(op, key, then)
		if err != nil {
			require.NoError(t, os.CopyFS(killed, os.DirFS(o.Directory)))
		}
		return err
	})
	require.Error(t, c.mirror.Push(t.Context()))
	c.crash()
	require.DirExists(t, filepath.Join(killed, "_theirs"))
	o.Directory = killed
	c = mustOpen(t, o)
	require.NoError(t, c.close())
	assert.NoDirExists(t, filepath.Join(killed, "_theirs"))
	assert.Equal(t, storedOnce("a", "b", "c", "early"), stored(t, p.address))
}
