package bucket

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// readAll returns what a reader with an empty cache finds in the bucket.
func readAll(t *testing.T, address string) (*table.Snapshot, *Cache, error) {
	t.Helper()
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	c, err := OpenCache(t.TempDir(), 1<<20)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	s, _, err := c.Snapshot(t.Context(), b, Read{})
	return s, c, err
}

// rowsIn returns the number of rows that a reader finds in the bucket.
func rowsIn(t *testing.T, address string) int64 {
	t.Helper()
	s, _, err := readAll(t, address)
	require.NoError(t, err)
	return s.Rows()
}

func write(t *testing.T, w *Writer, item string) {
	t.Helper()
	_, err := w.Write(t.Context(), []methodspan.Item{row(item, 10)})
	require.NoError(t, err)
}

// ways are the ways to lose a directory.
var ways = map[string]func(*testing.T, string){
	"all in it": func(t *testing.T, dir string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	},
	"CURRENT":    func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "CURRENT"))) },
	"moved away": func(t *testing.T, dir string) { require.NoError(t, os.Rename(dir, dir+".old")) },
	"an older copy": func(t *testing.T, dir string) {
		require.NoError(t, os.Rename(dir+"-older", filepath.Join(dir, "CURRENT")))
	},
}

// Rows deleted from a directory in use stay in the bucket. The collector reports the loss, and its next start
// continues from the bucket's state.
func TestMirror_DirectoryReplaced(t *testing.T) {
	for name, lose := range ways {
		t.Run(name, func(t *testing.T) {
			address, directory := "file://"+t.TempDir(), filepath.Join(t.TempDir(), "warehouse")
			o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour, Grace: time.Nanosecond}
			w, err := NewWriter(t.Context(), o, table.Options{})
			require.NoError(t, err)
			write(t, w, "a")
			older, err := os.ReadFile(filepath.Join(directory, "CURRENT"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(directory+"-older", older, 0o600))
			write(t, w, "b")
			require.NoError(t, w.Push(t.Context()))
			lose(t, directory)
			_, err = w.Write(t.Context(), []methodspan.Item{row("refused", 10)})
			require.Error(t, err)
			for n := range 2 {
				err = w.Push(t.Context())
				require.ErrorIs(t, err, warehouse.ErrCorrupt)
				assert.ErrorContains(t, err, directory)
				assert.ErrorContains(t, err, "start again: what "+address+"/host-1 holds is taken up then")
				assert.EqualValues(t, n+1, w.Stats().Failures)
			}
			err = w.Close()
			require.ErrorIs(t, err, errReplaced)
			assert.NotContains(t, err.Error(), "rows wait in", "they may be gone")
			assert.EqualValues(t, 20, rowsIn(t, address))

			o.Abandoned = time.Nanosecond // the prefix was not released
			w, err = NewWriter(t.Context(), o, table.Options{})
			require.NoError(t, err)
			assert.True(t, w.Committed("a"))
			assert.True(t, w.Committed("b"))
			write(t, w, "c")
			require.NoError(t, w.Close())
			assert.EqualValues(t, 30, rowsIn(t, address))
		})
	}
}

// The same while the store does not answer.
func TestMirror_DirectoryReplacedInOutage(t *testing.T) {
	for name, lose := range ways {
		t.Run(name, func(t *testing.T) {
			address, directory := "file://"+t.TempDir(), filepath.Join(t.TempDir(), "warehouse")
			o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour, Grace: time.Nanosecond, Abandoned: time.Nanosecond}
			w, err := NewWriter(t.Context(), o, table.Options{})
			require.NoError(t, err)
			write(t, w, "a")
			older, err := os.ReadFile(filepath.Join(directory, "CURRENT"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(directory+"-older", older, 0o600))
			write(t, w, "b")
			require.NoError(t, w.Close())
			b, err := Open(t.Context(), address)
			require.NoError(t, err)
			b.Inject(away)
			w, err = b.Writer(t.Context(), o, table.Options{})
			require.NoError(t, err)
			write(t, w, "waits")
			require.ErrorIs(t, w.Push(t.Context()), errAway)
			lose(t, directory)
			b.Inject(nil)
			require.ErrorIs(t, w.Push(t.Context()), errReplaced)
			require.ErrorIs(t, w.Close(), errReplaced)
			assert.EqualValues(t, 20, rowsIn(t, address))
		})
	}
}
