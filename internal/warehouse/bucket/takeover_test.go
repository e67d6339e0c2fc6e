package bucket

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// An import recognizes items for as long as the new owner of the prefix does, which can be longer than the
// default.
func TestImport_SkipsItemsOfNewOwner(t *testing.T) {
	const ago = 72 * time.Hour
	address, directory := "file://"+t.TempDir(), t.TempDir()
	then := time.Now().Add(-ago)
	p := table.Options{RememberFor: 7 * 24 * time.Hour, Now: func() time.Time { return then }}
	add := func(w *Writer, id string) {
		it := row(id, 10)
		for i := range it.Rows {
			it.Rows[i].StartNS -= int64(ago)
			it.Rows[i].EndNS -= int64(ago)
		}
		_, err := w.Write(t.Context(), []methodspan.Item{it})
		require.NoError(t, err)
	}
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}
	w, err := b.Writer(t.Context(), o, p)
	require.NoError(t, err)
	add(w, "sent")
	require.NoError(t, w.Push(t.Context()))
	add(w, "both")
	add(w, "left")
	b.Inject(away)
	require.Error(t, w.Close())

	o.Directory, o.Abandoned = t.TempDir(), time.Nanosecond
	w, err = NewWriter(t.Context(), o, p)
	require.NoError(t, err)
	add(w, "both")
	require.NoError(t, w.Push(t.Context()))
	b, err = Open(t.Context(), address)
	require.NoError(t, err)
	defer b.Close()
	got, err := Import(t.Context(), b, directory, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{got.Items, got.Repeated})
	require.NoError(t, w.Close())
	assert.EqualValues(t, 30, rowsIn(t, address))
}
