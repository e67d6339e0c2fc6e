package buckets

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
)

// TestReader_NextToACollector reads repeatedly while a collector writes, merges and deletes. No
// reader fails, sees a part of an item or sees one twice, and none sees fewer items than an earlier
// read.
func TestReader_NextToACollector(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		o := options(p.address, "host", t.TempDir())
		o.Grace = time.Nanosecond // readers find objects deleted all the time
		c := mustOpen(t, o)
		c.write(t, "0")
		require.NoError(t, c.mirror.Push(t.Context()))
		b, err := bucket.Open(t.Context(), p.address)
		require.NoError(t, err)
		defer b.Close()
		root := t.TempDir()
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				most := 0
				for end := false; !end; {
					select {
					case <-done:
						end = true
					default:
					}
					cache, err := bucket.OpenCache(root, 1<<30)
					if !assert.NoError(t, err) {
						return
					}
					s, _, err := cache.Snapshot(t.Context(), b, bucket.Read{})
					if assert.NoError(t, err) {
						items := count(t, s)
						for name, rows := range items {
							assert.Equal(t, rowsPerItem, rows, name)
						}
						assert.GreaterOrEqual(t, len(items), most)
						most = len(items)
					}
					assert.NoError(t, cache.Close())
				}
			})
		}
		for i := range 12 {
			c.write(t, "item-"+string(rune('a'+i)))
			assert.NoError(t, c.mirror.Push(t.Context()))
			if i%4 == 3 {
				assert.NoError(t, merge(t.Context(), c, o.Directory))
				assert.NoError(t, c.mirror.Push(t.Context()))
			}
		}
		close(done)
		readers.Wait()
		require.NoError(t, c.close())
		assert.Len(t, stored(t, p.address), 13)
	})
}

// TestCache_Bounded reads one date after the other with a cache that has room for one.
func TestCache_Bounded(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		c := mustOpen(t, options(p.address, "host", t.TempDir()))
		var dates []string
		for day := range 4 {
			it := item("day-" + string(rune('a'+day)))
			for i := range it.Rows {
				it.Rows[i].StartNS -= int64(day) * 24 * int64(time.Hour)
			}
			dates = append(dates, time.Unix(0, it.Rows[0].StartNS).UTC().Format(time.DateOnly))
			_, err := c.writer.Write(t.Context(), []methodspan.Item{it})
			require.NoError(t, err)
		}
		require.NoError(t, c.close())
		b, err := bucket.Open(t.Context(), p.address)
		require.NoError(t, err)
		defer b.Close()
		root := t.TempDir()

		var file int64
		ask := func(room int64, dates ...string) (string, error) {
			cache, err := bucket.OpenCache(root, room)
			require.NoError(t, err)
			defer func() { require.NoError(t, cache.Close()) }()
			var said strings.Builder
			s, _, err := cache.Snapshot(t.Context(), b, bucket.Read{
				Tell: &said, Date: func(d string) bool { return strings.Contains(strings.Join(dates, " "), d) },
			})
			if err != nil {
				return "", err
			}
			assert.EqualValues(t, rowsPerItem*len(dates), s.Rows())
			for i := range s.Files {
				require.NoError(t, s.Files[i].Verify(t.Context()))
				file = max(file, s.Files[i].Bytes)
			}
			return said.String(), nil
		}
		said, err := ask(1<<30, dates[0])
		require.NoError(t, err)
		assert.Contains(t, said, "fetching 1 files")
		said, err = ask(1<<30, dates[0])
		require.NoError(t, err)
		assert.Empty(t, said, "it is here already")

		room := 2*file + file/2
		for _, d := range dates {
			_, err := ask(room, d)
			require.NoError(t, err)
			assert.LessOrEqual(t, size(t, root, ".parquet"), room)
		}
		said, err = ask(room, dates[3])
		require.NoError(t, err)
		assert.Empty(t, said, "the newest was kept")
		said, err = ask(room, dates[0])
		require.NoError(t, err)
		assert.NotEmpty(t, said, "the oldest was not")
		if runtime.GOOS == "linux" { // elsewhere the time of the last use is unknown
			for _, d := range []string{dates[3], dates[1]} {
				_, err = ask(room, d)
				require.NoError(t, err)
			}
			said, err = ask(room, dates[3])
			require.NoError(t, err)
			assert.Empty(t, said, "what was used last was kept, though it was fetched before")
		}

		_, err = ask(room, dates...)
		require.ErrorIs(t, err, warehouse.ErrFull)
		assert.Contains(t, err.Error(), "--cache-size")
		entries, err := os.ReadDir(filepath.Join(root, "use"))
		require.NoError(t, err)
		assert.Empty(t, entries)
	})
}

// TestDirectory_Bounded merges and rolls up files that the directory no longer holds.
func TestDirectory_Bounded(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		o := options(p.address, "host", t.TempDir())
		o.LocalBytes = 64 << 10
		o.Grace = time.Nanosecond
		c := mustOpen(t, o)
		var names []string
		for i := range 16 {
			names = append(names, "item-"+string(rune('a'+i)))
			c.write(t, names[i])
			require.NoError(t, c.mirror.Push(t.Context()))
			assert.LessOrEqual(t, size(t, o.Directory, ".parquet"), o.LocalBytes)
		}
		require.NoError(t, c.close())
		o.LocalBytes = size(t, o.Directory, ".parquet") / 2
		c = mustOpen(t, o)
		require.NoError(t, c.mirror.Push(t.Context()))
		assert.LessOrEqual(t, size(t, o.Directory, ".parquet"), o.LocalBytes)
		require.ErrorIs(t, merge(t.Context(), c, o.Directory), warehouse.ErrTooLarge, "a step that does not fit says so")
		require.NoError(t, c.close())
		o.LocalBytes *= 4
		c = mustOpen(t, o)
		require.NoError(t, merge(t.Context(), c, o.Directory))
		assert.Positive(t, c.mirror.Stats().Downloaded)
		require.NoError(t, c.mirror.Push(t.Context()))
		require.NoError(t, c.mirror.Push(t.Context()))
		day := itemTime.UTC().Format(time.DateOnly)
		assert.False(t, p.has("host/date="+day+"/raw-000000000001.parquet"), "what was merged is deleted")
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce(names...), stored(t, p.address))
	})
}

// size adds up the sizes of the files below a directory, each once however many names it has.
func size(t *testing.T, root, suffix string) int64 {
	t.Helper()
	var total int64
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		info, err := d.Info()
		total += info.Size()
		return err
	}))
	return total
}
