package adaptivesampler

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"

	"github.com/corehour/corehour/internal/methodspan"
)

// maxFailed bounds the failed batches that are remembered until they are sent again.
const maxFailed = 4096

// batchID is the permanent identity of a batch of our SDK.
type batchID struct {
	process methodspan.ProcessKey
	seq     int64
}

// resends remembers batches that were learned and then refused by the next consumer. The receiver accepts them
// again when they are resent, and they must not be learned twice. When full, it forgets the oldest batch first.
type resends struct {
	processor.Traces // processes the batches
	loop             *controlLoop

	some   atomic.Bool
	mu     sync.Mutex
	failed map[batchID]bool
	order  []batchID
	next   int
}

// ConsumeTraces processes a batch and remembers it if that fails.
func (r *resends) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	ids := batchesOf(td) // td must not be read after ConsumeTraces
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

// batchOf returns the batch identity of a scope. It returns false if the scope has no batch number or its process
// cannot be identified.
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
