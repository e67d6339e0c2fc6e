package warehouse

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// statusHost records the reported component status.
type statusHost struct {
	mu     sync.Mutex
	events []componentstatus.Status
}

func (h *statusHost) GetExtensions() map[component.ID]component.Component { return nil }

func (h *statusHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e.Status())
}

func (h *statusHost) reported() []componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// The component status is OK when both writes and uploads work, whichever of them recovers first.
func TestHealth_CombinesAllParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := inBucket(t)
		r := newRig(t, cfg)
		r.open = func(cfg *Config, warn func(string)) (warehouse.Store, error) {
			s, err := openSink(cfg, warn)
			r.store.Store = s
			return s, err
		}
		host := &statusHost{}
		require.NoError(t, r.Start(context.Background(), host))
		var withFaults warehouse.Store = r.store
		r.sink.Store(&withFaults)
		var broken atomic.Bool
		r.store.before = func(int, []methodspan.Item) error {
			if broken.Load() {
				return errBroken
			}
			return nil
		}
		dir := strings.TrimPrefix(cfg.Bucket.Get().URL, "file://")
		sent := 0
		pass := func() {
			r.send(busyExport(sent))
			sent++
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		}
		away := func(is bool) {
			t.Helper()
			if is {
				require.NoError(t, os.Rename(dir, dir+"-away"))
				require.NoError(t, os.WriteFile(dir, nil, 0o600))
				return
			}
			require.NoError(t, os.Remove(dir))
			require.NoError(t, os.Rename(dir+"-away", dir))
		}
		pass()
		assert.Empty(t, host.reported())
		away(true)
		pass()
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.reported(), "uploads fail")
		broken.Store(true)
		pass()
		away(false)
		pass()
		assert.NotContains(t, host.reported(), componentstatus.StatusOK, "writes fail")
		away(true)
		pass()
		broken.Store(false)
		pass()
		assert.NotContains(t, host.reported(), componentstatus.StatusOK, "uploads fail again")
		away(false)
		pass()
		require.Contains(t, host.reported(), componentstatus.StatusOK)
		reported := host.reported()
		assert.Equal(t, componentstatus.StatusOK, reported[len(reported)-1])
		r.stop()
		balanced(t, totalsOf(r.in...), bucketTotals(t, cfg.Bucket.Get().URL))
	})
}
