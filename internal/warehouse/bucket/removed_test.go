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

// Objects of rows are deleted from the bucket. If the directory still has the file, the next start uploads it
// again. If not, later rows are uploaded nevertheless, and readers report the missing object.
func TestMirror_ObjectsRemoved(t *testing.T) {
	location, directory := t.TempDir(), t.TempDir()
	address := "file://" + location
	var warned []string
	open := func(localBytes int64) *Writer {
		w, err := NewWriter(t.Context(), Options{
			Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour, LocalBytes: localBytes,
			Warn: func(s string) { warned = append(warned, s) },
		}, table.Options{})
		require.NoError(t, err)
		return w
	}
	w := open(1 << 20)
	write(t, w, "a")
	require.NoError(t, w.Close())
	files, err := filepath.Glob(filepath.Join(directory, "date=*", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	path, err := filepath.Rel(directory, files[0])
	require.NoError(t, err)
	object := filepath.Join(location, "host-1", path)
	info, err := os.Stat(files[0])
	require.NoError(t, err)

	require.NoError(t, os.Remove(object))
	w = open(info.Size() - 1) // the bound evicts every file that is in the bucket
	require.FileExists(t, files[0])
	require.NoError(t, w.Push(t.Context()))
	require.FileExists(t, object)
	write(t, w, "b")
	require.NoError(t, w.Close())
	assert.EqualValues(t, 20, rowsIn(t, address))
	require.NoFileExists(t, files[0])
	assert.Empty(t, warned)

	require.NoError(t, os.Remove(object))
	w = open(1 << 20)
	write(t, w, "c")
	require.NoError(t, w.Push(t.Context()))
	assert.Zero(t, w.Stats().Failures)
	require.NoError(t, w.Close())
	require.Len(t, warned, 1)
	assert.Contains(t, warned[0], "1 files of rows are neither in "+address+"/host-1 nor in ")
	assert.Contains(t, warned[0], filepath.ToSlash(path))
	uploaded, err := filepath.Glob(filepath.Join(location, "host-1", "date=*", "*.parquet"))
	require.NoError(t, err)
	assert.Len(t, uploaded, 2, "of b and c")

	_, _, err = readAll(t, address)
	require.ErrorIs(t, err, warehouse.ErrCorrupt)
	assert.ErrorContains(t, err, address+"/host-1/"+filepath.ToSlash(path))
	assert.ErrorContains(t, err, "corehour compact --drop-damaged gives its rows up")
}
