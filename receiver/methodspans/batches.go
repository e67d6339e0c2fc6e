package methodspans

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/shares"
)

// batches knows which batches of which process were accepted, so that a resend
// is not counted twice.
//
// A number goes through two states. While its request is on the way through
// the pipeline it is in flight: a repeat waits for the outcome. When the
// pipeline has accepted it, it is remembered: a repeat is dropped. When the
// pipeline has refused it, it is forgotten: a repeat is processed.
//
// A repeat has the same content. What comes with a number that other content came
// with is of somebody else, is marked and stored.
type batches struct {
	remembered int

	mu        sync.Mutex
	instances *shares.Table[methodspan.ProcessKey, *window]
	flights   map[batchKey]inFlight // as many as the requests being served carry
}

type batchKey struct {
	process methodspan.ProcessKey
	seq     int64
}

// flight is one request on its way through the pipeline.
type flight struct{ done chan struct{} }

type inFlight struct {
	*flight
	digest uint32
}

func newBatches(maxInstances, remembered int) *batches {
	return &batches{
		remembered: remembered,
		instances:  shares.New[methodspan.ProcessKey, *window](maxInstances),
		flights:    make(map[batchKey]inFlight),
	}
}

// claim is what a request holds: the numbers it may process, and the scopes
// that repeat others.
type claim struct {
	flight  *flight
	sender  string
	held    []batchKey
	repeats []place // in the order of the request
}

// place of a scope in a request.
type place struct{ resource, scope int }

type numbered struct {
	place
	batchKey
	scope  ptrace.ScopeSpans
	digest uint32 // not 0
}

// claim decides for every numbered scope of a request whether it is new. All
// numbers are claimed in one step or none, so that two requests which carry
// the same numbers in another order cannot wait for each other.
func (b *batches) claim(ctx context.Context, td ptrace.Traces, sender string, t *tally) (claim, error) {
	scopes := numberedScopes(td, t)
	if len(scopes) == 0 {
		return claim{}, nil
	}
	c := claim{flight: &flight{done: make(chan struct{})}, sender: sender, held: make([]batchKey, 0, len(scopes))}
	for {
		busy := b.tryClaim(&c, scopes, t)
		if busy == nil {
			return c, nil
		}
		select {
		case <-busy.done:
		case <-ctx.Done():
			return claim{}, fmt.Errorf("waiting for an earlier copy of the batch: %w", context.Cause(ctx))
		}
	}
}

// tryClaim returns the flight to wait for, if there is one.
func (b *batches) tryClaim(c *claim, scopes []numbered, t *tally) *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range scopes {
		if busy, ok := b.flights[s.batchKey]; ok {
			return busy.flight
		}
	}
	for _, s := range scopes {
		before, old := uint32(0), false
		if here, ok := b.flights[s.batchKey]; ok { // twice in this request
			before = here.digest
		} else if w, ok := b.instances.Get(s.process, c.sender); ok {
			before, old = w.seen(s.seq)
		}
		switch {
		case before == s.digest:
			c.repeats = append(c.repeats, s.place)
			continue
		case before != 0:
			t.fault(batchConflict, passed)
			s.scope.Scope().Attributes().PutBool(methodspan.AttrBatchConflict, true)
			continue
		case old:
			t.overflow[tableBatches]++
		}
		b.flights[s.batchKey] = inFlight{c.flight, s.digest}
		c.held = append(c.held, s.batchKey)
	}
	t.duplicates += int64(len(c.repeats))
	return nil
}

// settle ends the flight and wakes who waits for it. It tells how many
// processes were forgotten to make room.
func (b *batches) settle(c claim, accepted bool) (evicted int64) {
	if c.flight == nil {
		return 0
	}
	b.mu.Lock()
	for _, key := range c.held {
		digest := b.flights[key].digest
		delete(b.flights, key)
		if !accepted {
			continue
		}
		w, ok := b.instances.Get(key.process, c.sender)
		if !ok {
			w = newWindow(b.remembered)
			if _, full := b.instances.Add(key.process, w, c.sender); full {
				evicted++
			}
		}
		w.add(key.seq, digest)
	}
	b.mu.Unlock()
	close(c.flight.done)
	return evicted
}

func (b *batches) sizes(sizes *[tableCount]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sizes[tableInstances] = int64(b.instances.Len())
	sizes[tableBatches] = int64(len(b.flights))
}

// numberedScopes finds the scopes whose repeats can be told. A number alone
// does not do: without the instance and the start of the process two processes
// could share it, and dropping the second one's batch would lose its calls.
func numberedScopes(td ptrace.Traces, t *tally) []numbered {
	var found []numbered
	for i, rs := range td.ResourceSpans().All() {
		var resource *methodspan.Resource
		for j, ss := range rs.ScopeSpans().All() {
			seq, _, ok := methodspan.BatchOf(ss.Scope())
			if !ok {
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
			found = append(found, numbered{place{i, j}, batchKey{resource.Key(), seq}, ss, max(1, uint32(digest))})
		}
	}
	return found
}

// digestOf is the same for a batch that is sent again, whoever encodes it, and another for other
// content: the ids of spans are random. The first receiver puts it on the batch, since a sampler
// behind it may keep other spans the next time.
func digestOf(ss ptrace.ScopeSpans) uint64 {
	var digest uint64
	mix := func(v uint64) {
		digest = (digest ^ v) * 0x9e3779b97f4a7c15
		digest ^= digest >> 32
	}
	_, total, _ := methodspan.BatchOf(ss.Scope())
	mix(uint64(total))
	for _, span := range ss.Spans().All() {
		id := span.SpanID()
		mix(binary.BigEndian.Uint64(id[:]))
		mix(uint64(span.StartTimestamp()))
		mix(uint64(span.EndTimestamp()))
		mix(uint64(span.Attributes().Len()))
	}
	return digest
}

// removeRepeats takes the repeated scopes out of the request, and resources
// that are empty without them.
func (c *claim) removeRepeats(td ptrace.Traces) {
	if len(c.repeats) == 0 {
		return
	}
	rest := c.repeats
	i := -1
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		i++
		before := rs.ScopeSpans().Len()
		j := -1
		rs.ScopeSpans().RemoveIf(func(ptrace.ScopeSpans) bool {
			j++
			if len(rest) == 0 || rest[0] != (place{i, j}) {
				return false
			}
			rest = rest[1:]
			return true
		})
		return before > 0 && rs.ScopeSpans().Len() == 0
	})
}
