package adaptivesampler

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"

	"github.com/corehour/corehour/internal/methodspan"
)

// maxFailed bounds the batches that are remembered because they will come again.
const maxFailed = 4096

// batchID names what our SDK sends at once, for ever.
type batchID struct {
	process methodspan.ProcessKey
	seq     int64
}

// resends remembers the batches that were learned and then refused by what comes
// behind. The receiver lets them pass when they come again, and they must not be
// learned twice. The oldest is forgotten first.
type resends struct {
	processor.Traces // does the work
	loop             *controlLoop

	some   atomic.Bool
	mu     sync.Mutex
	failed map[batchID]bool
	order  []batchID
	next   int
}

// ConsumeTraces hands a batch on, and remembers it if that fails.
func (r *resends) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	ids := batchesOf(td) // the content of td is unknown afterwards
	err := r.Traces.ConsumeTraces(ctx, td)
	if err != nil && len(ids) > 0 {
		r.remember(ids)
	}
	return err
}

func batchesOf(td ptrace.Traces) []batchID {
	var ids []batchID
	for _, rs := range td.ResourceSpans().All() {
		resource := methodspan.ReadResource(rs.Resource())
		for _, ss := range rs.ScopeSpans().All() {
			if id, ok := batchOf(resource, ss); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// batchOf returns the batch number of a scope, if its process can be identified.
func batchOf(resource *methodspan.ParsedResource, ss ptrace.ScopeSpans) (batchID, bool) {
	seq, _, ok := methodspan.BatchOf(ss.Scope())
	if !ok {
		return batchID{}, false
	}
	return batchID{resource.Key(), seq}, resource.Identified()
}

func (r *resends) remember(ids []batchID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = make(map[batchID]bool)
	}
	for _, id := range ids {
		if r.failed[id] {
			continue
		}
		if len(r.order) < maxFailed {
			r.order = append(r.order, id)
		} else {
			delete(r.failed, r.order[r.next])
			r.order[r.next] = id
			r.next = (r.next + 1) % maxFailed
		}
		r.failed[id] = true
	}
	r.some.Store(true)
}

// again reports whether the scope was learned before.
func (r *resends) again(resource *methodspan.ParsedResource, ss ptrace.ScopeSpans) bool {
	if !r.some.Load() {
		return false
	}
	id, ok := batchOf(resource, ss)
	if !ok {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[id]
}
