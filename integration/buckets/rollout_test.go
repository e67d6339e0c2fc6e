package buckets

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/bucket"
)

// ageCommits makes the commits of a place a second older.
func ageCommits(t *testing.T, p *place) {
	t.Helper()
	commits, err := filepath.Glob(filepath.Join(p.address[len("file://"):], "*", "_commit", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, commits)
	at := time.Now().Add(-time.Second)
	for _, path := range commits {
		require.NoError(t, os.Chtimes(path, at, at))
	}
}

// TestRollOut_NewVersionNextToOld starts the collector of a new version with an empty directory
// while the collector of the old version stops late. At every request of its shutdown, before or
// after it took effect, the old one is killed, or is believed dead and the new one takes its prefix
// over. Services send unanswered requests again to the new one, and the old directory is imported.
// Every row counts once, also after the roll-out is reverted.
func TestRollOut_NewVersionNextToOld(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	scene := func(t *testing.T, at int64, after, killed bool) (requests int64) {
		what := fmt.Sprintf("request %d, after it %v, killed %v", at, after, killed)
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
		ageCommits(t, p)

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
			fresh.Abandoned = 0 // the prefix was released
		}
		start()
		next.write(t, "no-answer-1", "no-answer-2", "new")
		require.NoError(t, next.mirror.Push(t.Context()), what)
		if stopped != nil {
			_, err := bring(t, p, o.Directory, nil)
			require.NoError(t, err, what)
		}
		want := storedOnce("sent", "left", "no-answer-1", "no-answer-2", "new")
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
	all := scene(t, 1<<40, false, true)
	require.Greater(t, all, int64(5))
	for at := int64(1); at <= all; at++ {
		for _, after := range []bool{false, true} {
			scene(t, at, after, true)
			scene(t, at, after, false)
		}
	}
}
