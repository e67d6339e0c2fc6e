package methodspans

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/shares"
)

// batches remembers the accepted batches of each process, so that a retry is not counted
// twice.
//
// While the pipeline processes a request, its batch numbers are in flight and a duplicate
// waits for the outcome. If the pipeline accepts the request, the numbers are remembered and a
// duplicate is dropped. If it refuses the request, they are forgotten and a retry is processed.
//
// A duplicate has the same content. Other content with the same number comes from another
// process; it is marked and stored. Scopes of other SDKs have no number: the digest of their
// spans is one, without a process.
type batches struct {
	remembered int

	mu         sync.Mutex
	instances  *shares.Table[methodspan.ProcessKey, *sequenceWindow]
	unnumbered *shares.Table[int64, struct{}] // digests
	pending    map[batchKey]pendingBatch      // bounded by the requests being served
}

// maxUnnumbered bounds the remembered scopes without a number, about 200 bytes each.
const maxUnnumbered = 16_384

type batchKey struct {
	process methodspan.ProcessKey // empty for scopes without a number
	seq     int64
}

func (k *batchKey) numbered() bool { return k.process != methodspan.ProcessKey{} }

type pendingBatch struct {
	done   chan struct{} // closed when its request has left the pipeline
	digest uint32
}

func newBatches(maxInstances, remembered int) *batches {
	return &batches{
		remembered: remembered,
		instances:  shares.New[methodspan.ProcessKey, *sequenceWindow](maxInstances),
		unnumbered: shares.New[int64, struct{}](maxUnnumbered),
		pending:    make(map[batchKey]pendingBatch),
	}
}

// batchClaim holds the batch numbers that a request can process, and its duplicate scopes.
type batchClaim struct {
	done       chan struct{} // closed when the request has left the pipeline; nil = nothing is claimed
	sender     string
	held       []batchKey
	duplicates []scopePosition // in the order of the request
}

// scopePosition is the position of a scope in a request.
type scopePosition struct{ resource, scope int }

type numbered struct {
	scopePosition
	batchKey
	scope  ptrace.ScopeSpans
	digest uint32 // not 0
}

// claim decides for every numbered scope of a request whether it is new. It claims all numbers
// in one step or none, so that two requests with the same numbers in another order cannot wait
// for each other.
func (b *batches) claim(ctx context.Context, td ptrace.Traces, sender string, t *requestCounts) (batchClaim, error) {
	scopes := numberedScopes(td, t)
	if len(scopes) == 0 {
		return batchClaim{}, nil
	}
	c := batchClaim{done: make(chan struct{}), sender: sender, held: make([]batchKey, 0, len(scopes))}
	for {
		busy := b.tryClaim(&c, scopes, t)
		if busy == nil {
			return c, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return batchClaim{}, fmt.Errorf("waiting for an earlier copy of the batch: %w", context.Cause(ctx))
		}
	}
}

// tryClaim claims the numbers. If one of them is in flight it claims none, and returns a
// channel that is closed when that request is done.
func (b *batches) tryClaim(c *batchClaim, scopes []numbered, t *requestCounts) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range scopes {
		if busy, ok := b.pending[s.batchKey]; ok {
			return busy.done
		}
	}
	for _, s := range scopes {
		before, old := uint32(0), false
		if here, ok := b.pending[s.batchKey]; ok { // twice in this request
			before = here.digest
		} else if !s.numbered() {
			if _, ok := b.unnumbered.Get(s.seq, c.sender); ok {
				before = s.digest
			}
		} else if w, ok := b.instances.Get(s.process, c.sender); ok {
			before, old = w.seen(s.seq)
		}
		switch {
		case before == s.digest:
			c.duplicates = append(c.duplicates, s.scopePosition)
			continue
		case before != 0:
			t.fault(batchConflict, passed)
			s.scope.Scope().Attributes().PutBool(methodspan.AttrBatchConflict, true)
			continue
		case old:
			t.overflow[tableBatches]++
		}
		b.pending[s.batchKey] = pendingBatch{c.done, s.digest}
		c.held = append(c.held, s.batchKey)
	}
	t.duplicates += int64(len(c.duplicates))
	return nil
}

// release ends a claim and wakes the duplicates that wait for it. It returns the number of
// evicted processes.
func (b *batches) release(c batchClaim, accepted bool) (evicted int64) {
	if c.done == nil {
		return 0
	}
	b.mu.Lock()
	for _, key := range c.held {
		digest := b.pending[key].digest
		delete(b.pending, key)
		if !accepted {
			continue
		}
		if !key.numbered() {
			b.unnumbered.Add(key.seq, struct{}{}, c.sender)
			continue
		}
		w, ok := b.instances.Get(key.process, c.sender)
		if !ok {
			w = newSequenceWindow(b.remembered)
			if _, full := b.instances.Add(key.process, w, c.sender); full {
				evicted++
			}
		}
		w.remember(key.seq, digest)
	}
	b.mu.Unlock()
	close(c.done)
	return evicted
}

func (b *batches) sizes(sizes *[tableCount]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sizes[tableInstances] = int64(b.instances.Len())
	sizes[tableBatches] = int64(len(b.pending))
}

// numberedScopes returns the scopes whose duplicates can be recognised: those without a number, by
// their span ids, and those with a number, an instance and a process start. Without instance and
// start two processes can have the same number, and dropping the second one's batch would lose its
// calls.
func numberedScopes(td ptrace.Traces, t *requestCounts) []numbered {
	var found []numbered
	for i, rs := range td.ResourceSpans().All() {
		var resource *methodspan.ParsedResource
		for j, ss := range rs.ScopeSpans().All() {
			seq, _, ok := methodspan.BatchOf(ss.Scope())
			if !ok {
				if !ofStockSDK(ss) {
					continue
				}
				if resource == nil {
					resource = methodspan.ReadResource(rs.Resource())
				}
				process := resource.Key()
				if strings.HasPrefix(process.Instance, methodspan.MayBeMerged) {
					process.Instance = "" // a retry can come by another connection
				}
				digest := digestOf(ss) ^ binary.BigEndian.Uint64([]byte(process.Hash()))
				found = append(found, numbered{scopePosition{i, j}, batchKey{seq: int64(digest)}, ss, max(1, uint32(digest))})
				continue
			}
			if resource == nil {
				resource = methodspan.ReadResource(rs.Resource())
			}
			if !resource.Identified() {
				t.fault(identityIncomplete, passed)
				continue
			}
			digest, ok := methodspan.DigestOf(ss.Scope())
			if !ok {
				digest = digestOf(ss)
				ss.Scope().Attributes().PutInt(methodspan.AttrBatchDigest, int64(digest))
			}
			found = append(found, numbered{scopePosition{i, j}, batchKey{resource.Key(), seq}, ss, max(1, uint32(digest))})
		}
	}
	return found
}

// ofStockSDK reports whether the first span of a scope has an id and comes from another SDK.
func ofStockSDK(ss ptrace.ScopeSpans) bool {
	if ss.Spans().Len() == 0 || ss.Spans().At(0).SpanID().IsEmpty() {
		return false
	}
	_, ours := ss.Spans().At(0).Attributes().Get(methodspan.AttrKind)
	return !ours
}

// digestOf returns a digest of the content of a batch, independent of its encoding. Span ids
// are random, so other content has another digest. The first receiver puts it on the batch,
// since a sampler behind it can keep other spans the next time.
func digestOf(ss ptrace.ScopeSpans) uint64 {
	var digest uint64
	mix := func(v uint64) {
		digest = (digest ^ v) * 0x9e3779b97f4a7c15
		digest ^= digest >> 32
	}
	_, total, _ := methodspan.BatchOf(ss.Scope())
	mix(uint64(total))
	for _, span := range ss.Spans().All() {
		trace, id := span.TraceID(), span.SpanID()
		mix(binary.BigEndian.Uint64(trace[:8]))
		mix(binary.BigEndian.Uint64(trace[8:]))
		mix(binary.BigEndian.Uint64(id[:]))
		mix(uint64(span.StartTimestamp()))
		mix(uint64(span.EndTimestamp()))
		mix(uint64(span.Attributes().Len()))
	}
	return digest
}

// removeDuplicates removes the duplicate scopes from the request, and resources
// that are empty without them.
func (c *batchClaim) removeDuplicates(td ptrace.Traces) {
	if len(c.duplicates) == 0 {
		return
	}
	rest := c.duplicates
	i := -1
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		i++
		before := rs.ScopeSpans().Len()
		j := -1
		rs.ScopeSpans().RemoveIf(func(ptrace.ScopeSpans) bool {
			j++
			if len(rest) == 0 || rest[0] != (scopePosition{i, j}) {
				return false
			}
			rest = rest[1:]
			return true
		})
		return before > 0 && rs.ScopeSpans().Len() == 0
	})
}
