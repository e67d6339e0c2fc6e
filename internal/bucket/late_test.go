package bucket

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// A start that ended after it had noted what the prefix has, and before the directory
// had it: what is written then would be taken for newer than that.
func TestNoWritesToADirectoryThatIsBehindItsMarker(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}
	open := func(inject Injector) (*Writer, error) {
		b, err := Open(t.Context(), address)
		require.NoError(t, err)
		b.Inject(inject)
		w, err := b.Writer(t.Context(), o, parquet.Options{})
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

// A commit that leads to two files of one name would make the prefix unreadable.
func TestOneNameIsOneFile(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	w, err := b.Writer(t.Context(), Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}, parquet.Options{})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []methodspan.Item{row("a", 10)})
	require.NoError(t, err)
	require.NoError(t, w.Push(t.Context()))
	_, err = w.Write(t.Context(), []methodspan.Item{row("b", 10)})
	require.NoError(t, err)

	tree, err := parquet.CurrentTree(directory)
	require.NoError(t, err)
	good := tree.Objects
	sent, fresh := good[0], good[1]
	sent.Checksum, fresh.Checksum = "crc32c:00000000", "crc32c:00000000"
	for _, bad := range []parquet.Object{sent, fresh} {
		tree.Objects = append(good[:2:2], bad)
		_, err = w.upload(t.Context(), tree)
		require.ErrorIs(t, err, parquet.ErrCorrupt)
		assert.ErrorContains(t, err, bad.Path)
	}
	require.NoError(t, w.Close())
}
