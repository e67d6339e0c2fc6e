package buckets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// sinceAdded are the fields that the first programs with buckets did not write.
var sinceAdded = regexp.MustCompile(`,"(lease_ns|scratch|handed|sequence|committed)":("[^"]*"|\[[^]]*\]|[a-z0-9]+)`)

// rewrite makes commits a second old and, if before is set, commits and the marker of a
// directory those of the first programs.
func rewrite(t *testing.T, p *place, directory string, before bool) {
	t.Helper()
	commits, err := filepath.Glob(filepath.Join(p.address[len("file://"):], "*", "_commit", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, commits)
	marker := filepath.Join(directory, table.SpoolName)
	for _, path := range append(commits, marker) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		older := sinceAdded.ReplaceAllFunc(data, func(field []byte) []byte {
			if path != marker && bytes.HasPrefix(field, []byte(`,"committed"`)) {
				return field // always there
			}
			return nil
		})
		require.NotEqual(t, string(data), string(older), path)
		if before {
			require.NoError(t, os.WriteFile(path, older, 0o600))
		}
		at := time.Now().Add(-time.Second)
		require.NoError(t, os.Chtimes(path, at, at))
	}
}

// TestRollOut: the collector of a new version starts with an empty directory while that of
// the old version stops late. At every request of its end, before or after it took effect,
// the old one is killed, or thought to be dead and the new one takes its prefix over.
// Services send to the new one again what they had no answer for, and the old directory is
// imported. Every row counts once, also after the roll-out is reverted.
func TestRollOut(t *testing.T) {
	scene := func(t *testing.T, at int64, after, killed, before bool) (requests int64) {
		what := fmt.Sprintf("request %d, after it %v, killed %v, older formats %v", at, after, killed, before)
		p := places["directory"](t)
		o := options(p.address, "host", t.TempDir())
		old := mustOpen(t, o)
		old.write(t, "sent", "no-answer-1")
		require.NoError(t, old.mirror.Push(t.Context()))
		old.write(t, "left", "no-answer-2")
		fresh := o
		fresh.Directory = t.TempDir()
		_, err := open(t, fresh, nil)
		require.ErrorIs(t, err, bucket.ErrTaken, what)
		rewrite(t, p, o.Directory, before)

		var next *collector
		start := sync.OnceFunc(func() { next = mustOpen(t, fresh) })
		fresh.Abandoned = time.Nanosecond
		faults, n := steps(at, after)
		old.bucket.Inject(func(op, key string, then bool) error {
			err := faults(op, key, then)
			if err != nil && !killed {
				start()
				return nil
			}
			return err
		})
		stopped := old.close()
		requests = n.Load()
		if at > requests {
			require.NoError(t, stopped, what)
			fresh.Abandoned = 0 // it was released
		}
		start()
		next.write(t, "no-answer-1", "no-answer-2", "new")
		require.NoError(t, next.mirror.Push(t.Context()), what)
		if stopped != nil {
			_, err := bring(t, p, o.Directory, nil)
			require.NoError(t, err, what)
		}
		want := once("sent", "left", "no-answer-1", "no-answer-2", "new")
		require.Equal(t, want, stored(t, p.address), what)
		require.NoError(t, merge(t.Context(), next, fresh.Directory), what)
		require.NoError(t, next.close(), what)

		old, err = open(t, o, nil)
		if err != nil { // its rows were imported
			require.ErrorIs(t, err, bucket.ErrTaken, what)
			require.Error(t, stopped, what)
		} else {
			assert.Equal(t, 1, old.write(t, "new").DuplicateItems, what)
			require.NoError(t, old.close(), what)
		}
		require.Equal(t, want, stored(t, p.address), what)
		return requests
	}
	for _, before := range []bool{false, true} {
		all := scene(t, 1<<40, false, true, before)
		require.Greater(t, all, int64(5))
		for at := int64(1); at <= all; at++ {
			for _, after := range []bool{false, true} {
				scene(t, at, after, true, before)
				scene(t, at, after, false, before)
			}
		}
	}
}
