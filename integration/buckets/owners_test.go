package buckets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/table"
)

func TestCollectors_RoundTripOfTwo(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		one := mustOpen(t, options(p.address, "host-1", t.TempDir()))
		two := mustOpen(t, options(p.address, "host-2.example_x", t.TempDir()))
		assert.Empty(t, stored(t, p.address), "nothing counts before the first upload")
		one.write(t, "a", "b")
		two.write(t, "c")
		require.NoError(t, one.mirror.Push(t.Context()))
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
		require.NoError(t, two.close())
		require.NoError(t, one.close())
		assert.Equal(t, storedOnce("a", "b", "c"), stored(t, p.address))
	})
}

func TestDirectory_KeptOverARestart(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		o := options(p.address, "host", t.TempDir())
		c := mustOpen(t, o)
		c.write(t, "a")
		require.NoError(t, c.mirror.Push(t.Context()))
		c.write(t, "b")
		c.crash()
		assert.Equal(t, storedOnce("a"), stored(t, p.address))
		c = mustOpen(t, o) // at once: the directory proves the ownership of the prefix
		assert.Equal(t, 1, c.write(t, "b").DuplicateItems)
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
	})
}

func TestDirectory_Lost(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		c := mustOpen(t, options(p.address, "host", t.TempDir()))
		c.write(t, "a")
		require.NoError(t, c.close())
		// The collector knows again which items are in the bucket.
		c = mustOpen(t, options(p.address, "host", t.TempDir()))
		res := c.write(t, "a", "b")
		assert.Equal(t, 1, res.DuplicateItems)
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
	})
}

func TestOwner_TwoCollectorsWithOnePrefix(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		first := mustOpen(t, options(p.address, "host", t.TempDir()))
		first.write(t, "a")
		require.NoError(t, first.mirror.Push(t.Context()))

		_, err := open(t, options(p.address, "host", t.TempDir()), nil)
		require.ErrorIs(t, err, bucket.ErrTaken)
		assert.Contains(t, err.Error(), "give each collector a `prefix` of its own")

		// The first owner was silent for too long: the second may take over, and the first notices
		// before it commits anything.
		o := options(p.address, "host", t.TempDir())
		o.Abandoned = time.Nanosecond
		second := mustOpen(t, o)
		first.write(t, "lost")
		second.write(t, "b")
		err = first.mirror.Push(t.Context())
		require.ErrorIs(t, err, bucket.ErrTaken)
		require.ErrorIs(t, first.mirror.Lost(), bucket.ErrTaken)
		require.NoError(t, second.mirror.Push(t.Context()))
		require.ErrorIs(t, first.close(), bucket.ErrTaken)
		require.NoError(t, second.close())
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
	})
}

func TestOwner_DistinguishesDirectories(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		dir := t.TempDir()
		c := mustOpen(t, options(p.address, "host", dir))
		c.write(t, "a")
		require.NoError(t, c.close())

		_, err := open(t, options(p.address, "other", dir), nil)
		require.ErrorIs(t, err, bucket.ErrTaken)
		assert.Contains(t, err.Error(), "the directory belongs to "+c.mirror.Address())

		filled := t.TempDir()
		w, err := table.NewWriter(filled, table.Options{})
		require.NoError(t, err)
		(&collector{writer: w}).write(t, "x")
		require.NoError(t, w.Close())
		_, err = open(t, options(p.address, "host", filled), nil)
		require.ErrorIs(t, err, bucket.ErrTaken)
		assert.Contains(t, err.Error(), "both the prefix and the directory hold rows")

		// A directory from before there was a bucket is uploaded.
		c = mustOpen(t, options(p.address, "moved", filled))
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "x"), stored(t, p.address))

		// Another process has maintained the prefix meanwhile, and released it.
		c = mustOpen(t, options(p.address, "host", t.TempDir()))
		c.write(t, "b")
		require.NoError(t, c.close())
		c = mustOpen(t, options(p.address, "host", dir))
		c.write(t, "c")
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b", "c", "x"), stored(t, p.address))
	})
}

func TestDirectory_Copied(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		dir, copied := t.TempDir(), t.TempDir()
		c := mustOpen(t, options(p.address, "host", dir))
		c.write(t, "a")
		require.NoError(t, c.mirror.Push(t.Context()))
		require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
		c.write(t, "lost")
		// A copy cannot be distinguished from a restart, but only one of them continues.
		second := mustOpen(t, options(p.address, "host", copied))
		require.ErrorIs(t, c.mirror.Push(t.Context()), bucket.ErrTaken)
		second.write(t, "b")
		require.NoError(t, second.close())
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
	})
}

func TestStore_MissingOrUnconditional(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		b, err := bucket.Open(t.Context(), p.missing)
		if err == nil {
			_, err = bucket.NewMirror(t.Context(), b, options(p.missing, "host", t.TempDir()))
			require.ErrorIs(t, err, bucket.ErrRefused)
			assert.Contains(t, err.Error(), "check that the bucket exists")
			assert.Contains(t, err.Error(), `"`+strings.Split(p.missing, "?")[0])
		}
		require.Error(t, err)
	})
	overProtocols(t, func(t *testing.T, p *place) {
		p.faults.forget.Store(true)
		_, err := open(t, options(p.address, "host", t.TempDir()), nil)
		require.ErrorIs(t, err, bucket.ErrRefused)
		assert.Contains(t, err.Error(), "ignores conditional writes")
		p.faults.forget.Store(false)
		p.faults.race.Store(true)
		_, err = open(t, options(p.address, "host-2", t.TempDir()), nil)
		require.ErrorIs(t, err, bucket.ErrRefused, "of two creators at once both win")
		assert.Contains(t, err.Error(), "ignores conditional writes")
		p.faults.race.Store(false)
		p.faults.deny.Store(true)
		_, err = open(t, options(p.address, "host", t.TempDir()), nil)
		require.ErrorIs(t, err, bucket.ErrRefused)
	})
}

// A store can answer 409 to a request that creates an object while another one creates it.
func TestStore_ConflictIsALostRace(t *testing.T) {
	overProtocols(t, func(t *testing.T, p *place) {
		p.faults.conflict.Store(true)
		c := mustOpen(t, options(p.address, "host", t.TempDir()))
		c.write(t, "a")
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a"), stored(t, p.address))
	})
}

func TestStore_DownAtTheStart(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		dir := t.TempDir()
		down := func(string, string, bool) error { return errCrashed }
		_, err := open(t, options(p.address, "host", dir), down)
		require.Error(t, err, "nobody knows yet whose the prefix is")
		c := mustOpen(t, options(p.address, "host", dir))
		c.write(t, "a")
		require.NoError(t, c.close())
		c, err = open(t, options(p.address, "host", dir), down)
		require.NoError(t, err)
		c.write(t, "b")
		require.Error(t, c.mirror.Push(t.Context()))
		c.bucket.Inject(nil)
		require.NoError(t, c.mirror.Push(t.Context()))
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
	})
}

func TestStore_ForeignObjects(t *testing.T) {
	overAllStores(t, func(t *testing.T, p *place) {
		c := mustOpen(t, options(p.address, "host", t.TempDir()))
		c.write(t, "a")
		require.NoError(t, c.close())
		raw, err := bucket.Open(t.Context(), p.address)
		require.NoError(t, err)
		defer raw.Close()
		for _, key := range []string{
			"not a prefix/_commit/000000000001.json", ".hidden/x", "<script>alert(1)</script>/x", "empty/readme.txt",
			"host/notes.txt", "host/_commit/latest.json", "host/_commit/0000000000099.json", "host/date=2026-01-01/mine.csv",
		} {
			require.NoError(t, p.put(key, []byte("{}")))
		}
		names, err := raw.Prefixes(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"empty", "host"}, names)
		assert.Equal(t, storedOnce("a"), stored(t, p.address))

		o := options(p.address, "host", t.TempDir())
		o.Grace = time.Nanosecond
		c = mustOpen(t, o)
		c.write(t, "b")
		require.NoError(t, c.close())
		assert.Equal(t, storedOnce("a", "b"), stored(t, p.address))
		for _, key := range []string{"host/notes.txt", "host/date=2026-01-01/mine.csv"} {
			assert.True(t, p.has(key), "%s is not ours to delete", key)
		}
	})
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a b", "a%2fb", "-x", "_commit", "a\n", strings.Repeat("x", 129), "ü"} {
		assert.Error(t, bucket.CheckPrefix(name), name)
	}
	for address, want := range map[string]string{
		"gs://user:secret@b":     "credentials are those of the environment",
		"gs://":                  "no bucket",
		"gs://b/a/../c":          "its path",
		"s3://b/a//c":            "its path",
		"azblob://b":             "scheme",
		"file://relative/x":      "absolute path",
		"file:///x?create_dir=1": "no options",
		"gs://%zz":               "no URL",
	} {
		assert.ErrorContains(t, bucket.Check(address), want, address)
		assert.NotContains(t, bucket.Check(address).Error(), "secret")
	}
	_, err := bucket.NewMirror(t.Context(), nil, options("", filepath.Join("..", "x"), t.TempDir()))
	assert.Error(t, err)
}
