package warehouse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
)

// The file of the stored queue is damaged in many ways. The exporter starts, stores new requests, and
// either stores what was in the queue or counts the damage.
func TestStoredQueue_Damaged(t *testing.T) {
	cfg := storedQueue(t)
	cfg.Queue.Batch.Get().MinSize = 100
	first := newRig(t, cfg)
	first.store.before = func(int, []methodspan.Item) error { return errBroken }
	stop := first.startStored()
	for i := range 20 {
		first.send(busyExport(i))
	}
	stop()
	queues, err := filepath.Glob(filepath.Join(filepath.Dir(cfg.Path), "queue", "*"))
	require.NoError(t, err)
	require.Len(t, queues, 1)
	whole, err := os.ReadFile(queues[0])
	require.NoError(t, err)
	damages := map[string]func(data []byte) []byte{
		"none":      func(data []byte) []byte { return data },
		"garbage":   func([]byte) []byte { return []byte("garbage") },
		"no header": func(data []byte) []byte { clear(data[:8192]); return data },
	}
	// Bits of requests, and of pages of the database other than its two roots.
	var inRequests []int
	for at := 0; ; at++ {
		n := bytes.Index(whole[at:], []byte("shop/web.Handler.Serve"))
		if n < 0 {
			break
		}
		at += n
		inRequests = append(inRequests, at)
	}
	require.NotEmpty(t, inRequests)
	for seed := range 12 {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		damages[fmt.Sprint("bits ", seed)] = func(data []byte) []byte {
			for range 1 + rng.IntN(8) {
				data[inRequests[rng.IntN(len(inRequests))]+rng.IntN(60)] ^= 1 << rng.IntN(8)
			}
			return data
		}
		damages[fmt.Sprint("pages ", seed)] = func(data []byte) []byte {
			for range 1 + rng.IntN(8) {
				data[(2+rng.IntN(len(data)/4096-2))*4096+rng.IntN(64)] ^= 1 << rng.IntN(8)
			}
			return data[:len(data)-seed%2*8192]
		}
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			again := storedQueue(t)
			again.Queue.Batch.Get().MinSize = 100
			again.Queue.Batch.Get().FlushTimeout = 20 * time.Millisecond
			again.ShutdownTimeout = time.Minute
			queue := filepath.Join(filepath.Dir(again.Path), "queue")
			require.NoError(t, os.MkdirAll(queue, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(queue, filepath.Base(queues[0])), damage(append([]byte(nil), whole...)), 0o600))
			r := newRig(t, again)
			stop := r.startStored()
			r.send(busyExport(1000))
			// The queue is in order, so everything before the new request was read before it was stored.
			require.Eventually(t, func() bool {
				stored := storedTotals(t, again.Path)
				for key, n := range totalsOf(r.in...) {
					if stored[key] < n*(1-1e-6) {
						return false
					}
				}
				return true
			}, patience, 20*time.Millisecond, "the new request is stored")
			stop()
			stored := storedTotals(t, again.Path)
			want := totalsOf(append(first.in, r.in...)...)
			lost := differences(want, stored)
			aside, err := filepath.Glob(filepath.Join(queue, "*.damaged-*"))
			require.NoError(t, err)
			if len(lost) > 0 {
				assert.NotZero(t, int(r.metric("requests_damaged"))+len(aside), lost)
			}
			for key := range stored { // nothing that was never sent
				assert.LessOrEqual(t, stored[key], want[key]*(1+1e-6), key)
			}
			if name == "none" {
				assert.Empty(t, lost)
				assert.Zero(t, r.metric("requests_damaged"))
			}
		})
	}
}
