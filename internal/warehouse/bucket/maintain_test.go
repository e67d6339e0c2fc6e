package bucket

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// silentFor moves the last heartbeat of a prefix back in time.
func silentFor(t *testing.T, prefix string, age time.Duration) {
	t.Helper()
	commits, err := filepath.Glob(filepath.Join(prefix, "_commit", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, commits)
	for _, c := range commits {
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(c, at, at))
	}
}

// Rows of a killed collector can come back for a day. Killed maintenance leaves no rows behind, so the next run
// waits for minutes only.
func TestMaintain_AfterKill(t *testing.T) {
	bucket := t.TempDir()
	prefix := filepath.Join(bucket, "host")
	b, err := Open(t.Context(), "file://"+bucket)
	require.NoError(t, err)
	defer b.Close()
	killed := func(string, *Mirror) error {
		b.Inject(away)
		return nil
	}
	maintain := func(do func(string, *Mirror) error) error {
		defer b.Inject(nil)
		return Maintain(t.Context(), b, "host", t.TempDir(), 1<<20, do)
	}
	done := func(string, *Mirror) error { return nil }

	m, err := NewMirror(t.Context(), b, Options{Address: b.String(), Prefix: "host", Directory: t.TempDir()})
	require.NoError(t, err)
	b.Inject(away)
	require.Error(t, m.Close())
	b.Inject(nil)
	silentFor(t, prefix, 5*time.Minute)
	err = maintain(done)
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorContains(t, err, "give each collector")
	silentFor(t, prefix, 25*time.Hour)

	require.ErrorIs(t, maintain(killed), errAway)
	err = maintain(done)
	require.ErrorIs(t, err, ErrTaken)
	assert.NotContains(t, err.Error(), "collector")
	assert.Contains(t, err.Error(), "`corehour compact` is at work there, wait for it to end; if it was killed, try again in ")
	silentFor(t, prefix, 5*time.Minute)
	require.NoError(t, maintain(done))
}

// The cache is cleared while a command works in it.
func TestMaintain_ScratchCleared(t *testing.T) {
	address := "file://" + t.TempDir()
	w, err := NewWriter(t.Context(), Options{Address: address, Prefix: "host", Directory: t.TempDir(), Interval: time.Hour}, table.Options{})
	require.NoError(t, err)
	write(t, w, "a")
	require.NoError(t, w.Close())
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	defer b.Close()
	cache := t.TempDir()
	err = Maintain(t.Context(), b, "host", cache, 1<<20, func(string, *Mirror) error { return os.RemoveAll(cache) })
	require.ErrorIs(t, err, errReplaced)
	assert.EqualValues(t, 10, rowsIn(t, address))
}

// Scratch directories of killed commands are removed; directories in use stay.
func TestScratch_OfKilledCommands(t *testing.T) {
	b, err := Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	root := t.TempDir()
	for _, name := range []string{"compact-killed", "import-killed", "compact-running"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name, "warehouse"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name, scratchLock), nil, 0o600))
	}
	running, err := warehouse.LockFile(filepath.Join(root, "compact-running"), scratchLock, "")
	require.NoError(t, err)
	defer running.Close()
	require.NoError(t, Maintain(t.Context(), b, "host", root, 1<<20, func(directory string, _ *Mirror) error {
		assert.NoDirExists(t, filepath.Join(root, "compact-killed"))
		assert.NoDirExists(t, filepath.Join(root, "import-killed"))
		assert.DirExists(t, filepath.Join(root, "compact-running", "warehouse"))
		c, err := OpenCache(root, 1)
		require.NoError(t, err)
		assert.DirExists(t, directory, "it is in use")
		return c.Close()
	}))
	left, err := filepath.Glob(filepath.Join(root, "*-*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(root, "compact-running")}, left)
}
