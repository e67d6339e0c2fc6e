package bucket

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// maintained opens a directory for maintenance and passes its only date to do.
func maintained(t *testing.T, directory string, do func(*table.Maintainer, table.Date)) {
	t.Helper()
	m, err := table.NewMaintainer(directory, table.Options{})
	require.NoError(t, err)
	defer m.Close()
	dates, err := m.Dates()
	require.NoError(t, err)
	require.Len(t, dates, 1)
	do(m, dates[0])
}

// keepSums stores one rollup of the rows of all files of a directory next to them and returns the path of
// its object.
func keepSums(t *testing.T, directory string) (object string) {
	t.Helper()
	maintained(t, directory, func(m *table.Maintainer, d table.Date) {
		made, err := m.AddPreaggregated(t.Context(), d.Date, d.Files, table.Output{Level: methodspan.LevelHour, NoIDs: true}, func(add func(*methodspan.Row) error) error {
			sum := methodspan.Row{Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindAggregate, Level: methodspan.LevelHour, P: 1, StartNS: d.Files[0].MinStartNS, EndNS: d.Files[0].MinStartNS}
			for _, f := range d.Files {
				sum.Measured += f.Rows
			}
			return add(&sum)
		})
		require.NoError(t, err)
		object, err = filepath.Rel(directory, made.Path)
		require.NoError(t, err)
	})
	return object
}

// sumsIn returns the number of measurements in the rollups that a reader of the bucket finds, by prefix. It
// checks that they equal the rows of their source files.
func sumsIn(t *testing.T, address string) map[string]int64 {
	t.Helper()
	s, c, err := readAll(t, address)
	require.NoError(t, err)
	here, err := c.Bring(t.Context(), s.Sums, io.Discard)
	require.NoError(t, err)
	require.Len(t, here, len(s.Sums))
	found := map[string]int64{}
	for _, sums := range here {
		var want int64
		for _, path := range sums.Of {
			i := slices.IndexFunc(s.Files, func(f parquet.File) bool { return f.Path == path })
			require.GreaterOrEqual(t, i, 0, "%s is not among the files", path)
			assert.Equal(t, sums.Prefix, s.Files[i].Prefix)
			assert.Equal(t, sums.Date, s.Files[i].Date)
			rows, err := parquet.ReadRows(path)
			require.NoError(t, err)
			want += int64(len(rows))
		}
		require.NoError(t, sums.Verify(t.Context()))
		rows, err := parquet.ReadRows(sums.Path)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		assert.Equal(t, want, rows[0].Measured)
		found[sums.Prefix] += rows[0].Measured
	}
	return found
}

// mergeIn merges all files of a directory into one.
func mergeIn(t *testing.T, directory string, mirror *Mirror) {
	t.Helper()
	maintained(t, directory, func(m *table.Maintainer, d table.Date) {
		done, err := mirror.Fetch(t.Context(), d.Files)
		require.NoError(t, err)
		defer done()
		require.NotNil(t, d.Sums)
		_, err = m.Merge(t.Context(), d.Date, d.Files, table.Output{Kind: table.KindMerge})
		require.NoError(t, err)
	})
}

// Rollups are uploaded together with their rows and reach the readers. They are deleted like other removed
// files.
func TestMirror_Rollups(t *testing.T) {
	bucket := t.TempDir()
	address := "file://" + bucket
	writers, objects := map[string]*Writer{}, map[string]string{}
	for _, prefix := range []string{"host-1", "host-2"} { // with files of the same names
		o := Options{Address: address, Prefix: prefix, Directory: t.TempDir(), Interval: time.Hour, Grace: time.Nanosecond}
		w, err := NewWriter(t.Context(), o, table.Options{})
		require.NoError(t, err)
		write(t, w, "a")
		if prefix == "host-2" {
			write(t, w, "b")
			w.opts.LocalBytes = 1
		}
		made := keepSums(t, o.Directory)
		objects[prefix] = filepath.Join(bucket, prefix, made)
		waiting := w.Stats().UnsentBytes
		require.NoError(t, w.updateLocalStats())
		assert.Greater(t, w.Stats().UnsentBytes, waiting, "the sums wait to be uploaded")
		require.NoError(t, w.Push(t.Context()))
		assert.Zero(t, w.Stats().UnsentBytes)
		assert.FileExists(t, objects[prefix])
		_, err = os.Stat(filepath.Join(o.Directory, made))
		assert.Equal(t, prefix == "host-2", os.IsNotExist(err), "it goes from the directory if there is no room: %v", err)
		writers[prefix] = w
	}
	assert.Equal(t, map[string]int64{"host-1": 10, "host-2": 20}, sumsIn(t, address))

	w := writers["host-1"]
	write(t, w, "late")
	require.NoError(t, w.Push(t.Context()))
	assert.Equal(t, map[string]int64{"host-1": 10, "host-2": 20}, sumsIn(t, address))
	mergeIn(t, w.opts.Directory, w.Mirror)
	require.NoError(t, w.Push(t.Context()))
	assert.Equal(t, map[string]int64{"host-2": 20}, sumsIn(t, address))
	assert.FileExists(t, objects["host-1"], "for readers of the commit before")
	require.NoError(t, w.Push(t.Context()))
	assert.NoFileExists(t, objects["host-1"])

	// The same by maintenance of a command, which starts with an empty directory.
	for _, w := range writers {
		require.NoError(t, w.Close())
	}
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, Maintain(t.Context(), b, "host-2", t.TempDir(), 1<<20, func(directory string, m *Mirror) error {
		mergeIn(t, directory, m)
		require.NoError(t, m.Push(t.Context()))
		keepSums(t, directory)
		return nil
	}))
	assert.Equal(t, map[string]int64{"host-2": 20}, sumsIn(t, address))
	assert.EqualValues(t, 40, rowsIn(t, address))

	// The next owner of the prefix deletes unreferenced objects.
	assert.FileExists(t, objects["host-2"])
	w, err = NewWriter(t.Context(), Options{Address: address, Prefix: "host-2", Directory: t.TempDir(), Interval: time.Hour, Grace: time.Nanosecond}, table.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Push(t.Context()))
	assert.NoFileExists(t, objects["host-2"])
	require.NoError(t, w.Close())
	assert.Equal(t, map[string]int64{"host-2": 20}, sumsIn(t, address))
}

// A rollup file deleted from the bucket blocks neither uploads nor reads of the other files.
func TestMirror_RollupsRemoved(t *testing.T) {
	bucket := t.TempDir()
	o := Options{Address: "file://" + bucket, Prefix: "host-1", Directory: t.TempDir(), Interval: time.Hour}
	w, err := NewWriter(t.Context(), o, table.Options{})
	require.NoError(t, err)
	write(t, w, "a")
	object := filepath.Join(bucket, "host-1", keepSums(t, o.Directory))
	require.NoError(t, w.Push(t.Context()))
	require.NoError(t, w.Close())
	require.NoError(t, os.Remove(object))
	for i, directory := range []string{o.Directory, t.TempDir()} {
		o.Directory = directory
		w, err = NewWriter(t.Context(), o, table.Options{})
		require.NoError(t, err)
		write(t, w, []string{"b", "c"}[i])
		require.NoError(t, w.Push(t.Context()))
		assert.Zero(t, w.Stats().UnsentBytes)
		require.NoError(t, w.Close())
		if i == 0 {
			assert.FileExists(t, object, "the directory had it")
			require.NoError(t, os.Remove(object))
		}
	}
	assert.EqualValues(t, 30, rowsIn(t, o.Address))
	b, err := Open(t.Context(), o.Address)
	require.NoError(t, err)
	defer b.Close()
	c, err := OpenCache(t.TempDir(), 1<<20)
	require.NoError(t, err)
	defer c.Close()
	s, _, err := c.Snapshot(t.Context(), b, Read{})
	require.NoError(t, err)
	require.Len(t, s.Sums, 1)
	here, err := c.Bring(t.Context(), s.Sums, nil)
	require.ErrorContains(t, err, filepath.Base(object))
	assert.Empty(t, here)
}
