package bucket

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func row(item string, n int) methodspan.Item {
	start := time.Now().Add(-time.Hour).UnixNano()
	it := methodspan.Item{ID: item}
	res := &methodspan.Resource{Service: "shop"}
	for i := range n {
		it.Rows = append(it.Rows, methodspan.Row{
			Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: start + int64(i), EndNS: start + int64(i) + 5, Resource: res,
			Class: "shop/cart.Cart", Method: "Total", Measured: 1, WallNS: 5, P: 1, RowSeq: int32(i),
		})
	}
	return it
}

func TestWriter_RoundTrip(t *testing.T) {
	address := "file://" + t.TempDir()
	dir := t.TempDir()
	w, err := NewWriter(t.Context(), Options{Address: address, Prefix: "host-1", Directory: dir, Interval: time.Hour}, table.Options{})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []methodspan.Item{row("a", 10)})
	require.NoError(t, err)
	require.NoError(t, w.Close())

	b, err := Open(context.Background(), address)
	require.NoError(t, err)
	defer b.Close()
	c, err := OpenCache(t.TempDir(), 1<<20)
	require.NoError(t, err)
	s, dates, err := c.Snapshot(t.Context(), b, Read{Tell: os.Stderr})
	require.NoError(t, err)
	assert.Len(t, dates, 1)
	assert.EqualValues(t, 10, s.Rows())
	rows, err := parquet.ReadRows(s.Files[0].Path)
	require.NoError(t, err)
	assert.Len(t, rows, 10)
	require.NoError(t, c.Close())
}

// A commit of a newer program is refused permanently and is not reported as damaged.
func TestReadCommit_NewerVersion(t *testing.T) {
	bucket := t.TempDir()
	o := Options{Address: "file://" + bucket, Prefix: "host-1", Directory: t.TempDir(), Interval: time.Hour}
	w, err := NewWriter(t.Context(), o, table.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	commits, err := filepath.Glob(filepath.Join(bucket, "host-1", "_commit", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, commits)
	for _, c := range commits {
		data, err := os.ReadFile(c)
		require.NoError(t, err)
		data = bytes.Replace(data, []byte(`"schema_version":1`), []byte(`"schema_version":9`), 1)
		require.NoError(t, os.WriteFile(c, data, 0o600))
	}
	_, err = NewWriter(t.Context(), o, table.Options{})
	require.ErrorIs(t, err, warehouse.ErrNewer)
	require.NotErrorIs(t, err, warehouse.ErrCorrupt)
	assert.ErrorContains(t, err, "schema version 9 is newer than 1, which this program knows (use a newer corehour)")
}
