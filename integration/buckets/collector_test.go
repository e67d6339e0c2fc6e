package buckets

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// rowsPerItem is the number of rows of an item.
const rowsPerItem = 7

// itemTime is the time of all items, so that a date that begins while a test runs does not split them.
var itemTime = time.Now().Add(-time.Hour)

// item returns an entry of a collector's queue. Its content follows from its name.
func item(name string) methodspan.Item {
	start := itemTime.UnixNano()
	it := methodspan.Item{ID: name}
	resource := &methodspan.Resource{Service: "shop", Version: "1"}
	for i := range rowsPerItem {
		it.Rows = append(it.Rows, methodspan.Row{
			Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: start + int64(i), EndNS: start + int64(i) + 5, Resource: resource,
			Class: "shop/cart.Cart", Method: fmt.Sprintf("Total%d", i), Measured: 1, WallNS: 5, P: 1, RowSeq: int32(i),
		})
	}
	return it
}

// collector is a writer and its mirror, driven by the test.
type collector struct {
	bucket *bucket.Bucket
	mirror *bucket.Mirror
	writer *table.Writer
}

func options(address, prefix, dir string) bucket.Options {
	return bucket.Options{Address: address, Prefix: prefix, Directory: dir, Interval: time.Hour}
}

// open starts a collector. inject may be nil.
func open(t *testing.T, o bucket.Options, inject bucket.Injector) (*collector, error) {
	t.Helper()
	b, err := bucket.Open(t.Context(), o.Address)
	require.NoError(t, err)
	if inject != nil {
		b.Inject(inject)
	}
	w, err := b.Writer(t.Context(), o, table.Options{}.Inject(noFaults))
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	c := &collector{b, w.Mirror, w.Writer}
	t.Cleanup(func() { _ = c.close() })
	return c, nil
}

// noFaults injects no faults. An injector also makes tests skip waiting for the disk.
func noFaults(string, string, bool) error { return nil }

func mustOpen(t *testing.T, o bucket.Options) *collector {
	t.Helper()
	c, err := open(t, o, nil)
	require.NoError(t, err)
	return c
}

func (c *collector) close() error {
	return errors.Join(c.mirror.Close(), c.writer.Close(), c.bucket.Close())
}

// crash stops the collector without cleanup: no further request gets through.
func (c *collector) crash() {
	c.bucket.Inject(func(string, string, bool) error { return errCrashed })
	_ = c.close()
}

var errCrashed = errors.New("crashed")

func (c *collector) write(t *testing.T, names ...string) warehouse.Result {
	t.Helper()
	items := make([]methodspan.Item, len(names))
	for i, n := range names {
		items[i] = item(n)
	}
	res, err := c.writer.Write(t.Context(), items)
	require.NoError(t, err)
	return res
}

// stored counts the rows of every item as a reader with an empty cache sees them.
func stored(t *testing.T, address string) map[string]int {
	t.Helper()
	b, err := bucket.Open(t.Context(), address)
	require.NoError(t, err)
	defer b.Close()
	c, err := bucket.OpenCache(t.TempDir(), 1<<30)
	require.NoError(t, err)
	defer c.Close()
	s, _, err := c.Snapshot(t.Context(), b, bucket.Read{})
	if errors.Is(err, warehouse.ErrEmpty) || errors.Is(err, warehouse.ErrMissing) {
		return map[string]int{}
	}
	require.NoError(t, err)
	return count(t, s)
}

func count(t *testing.T, s *table.Snapshot) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, f := range s.Files {
		rows, err := parquet.ReadRows(f.Path)
		require.NoError(t, err)
		for i := range rows {
			found[rows[i].BatchID]++
		}
	}
	return found
}

// storedOnce returns the expected rows of items that are stored once.
func storedOnce(names ...string) map[string]int {
	want := map[string]int{}
	for _, n := range names {
		want[n] = rowsPerItem
	}
	return want
}
