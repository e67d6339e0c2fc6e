package bucket

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// A start can be killed after it wrote the marker and before it replaced the directory's state. Rows written
// in that condition would count as newer than the prefix's state, so the next start must not open the directory.
func TestNewMirror_DirectoryBehindMarker(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}
	open := func(inject Injector) (*Writer, error) {
		b, err := Open(t.Context(), address)
		require.NoError(t, err)
		b.Inject(inject)
		w, err := b.Writer(t.Context(), o, table.Options{})
		if err != nil {
			require.NoError(t, b.Close())
		}
		return w, err
	}
	w, err := open(nil)
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []methodspan.Item{row("a", 10)})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	w, err = open(away)
	require.NoError(t, err)
	require.Error(t, w.Close())

	m, err := readMarker(directory)
	require.NoError(t, err)
	m.Generation++
	require.NoError(t, m.write(directory))
	_, err = open(away)
	require.ErrorIs(t, err, errAway)
}

// A commit that references two files of one name would make the prefix unreadable.
func TestMirror_DuplicateObjectName(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	w, err := b.Writer(t.Context(), Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}, table.Options{})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []methodspan.Item{row("a", 10)})
	require.NoError(t, err)
	require.NoError(t, w.Push(t.Context()))
	_, err = w.Write(t.Context(), []methodspan.Item{row("b", 10)})
	require.NoError(t, err)

	tree, err := table.CurrentTree(directory)
	require.NoError(t, err)
	good := tree.Objects
	sent, fresh := good[0], good[1]
	sent.Checksum, fresh.Checksum = "crc32c:00000000", "crc32c:00000000"
	for _, bad := range []table.Object{sent, fresh} {
		tree.Objects = append(good[:2:2], bad)
		_, err = w.upload(t.Context(), tree)
		require.ErrorIs(t, err, warehouse.ErrCorrupt)
		assert.ErrorContains(t, err, bad.Path)
	}
	require.NoError(t, w.Close())
}

// A collector was stopped after a commit and before it recorded the commit. Other collectors have had its prefix
// since and know the committed rows, so rows written later are rebased onto the prefix.
func TestMirror_UnrecordedCommitBeforeTakeover(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	w, err := b.Writer(t.Context(), o, table.Options{})
	require.NoError(t, err)
	var noted *marker
	for _, item := range []string{"a", "b"} {
		noted, err = readMarker(directory)
		require.NoError(t, err)
		_, err = w.Write(t.Context(), []methodspan.Item{row(item, 10)})
		require.NoError(t, err)
		require.NoError(t, w.Push(t.Context()))
	}
	b.Inject(away)
	require.Error(t, w.Close())
	require.NoError(t, noted.write(directory))

	b, err = Open(t.Context(), address)
	require.NoError(t, err)
	m, err := NewMirror(t.Context(), b, Options{Address: address, Prefix: "host-1", Directory: t.TempDir(), Abandoned: time.Nanosecond, CloseWithin: time.Minute, Scratch: true})
	require.NoError(t, err)
	require.NoError(t, m.Push(t.Context()))
	require.NoError(t, m.Close())

	b.Inject(away)
	w, err = b.Writer(t.Context(), o, table.Options{})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []methodspan.Item{row("c", 10)})
	require.NoError(t, err)
	b.Inject(nil)
	require.NoError(t, w.Push(t.Context()))
	for _, item := range []string{"a", "b", "c"} {
		assert.True(t, w.Committed(item), item)
	}
	require.NoError(t, w.Close())
	tree, err := table.CurrentTree(directory)
	require.NoError(t, err)
	assert.Len(t, tree.Objects, 3)
}
