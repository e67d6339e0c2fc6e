package corehour

import (
	"context"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/messagelog"
	"github.com/corehour/corehour/sdk/internal/methodfile"
	"github.com/corehour/corehour/sdk/internal/ring"
	"github.com/corehour/corehour/sdk/internal/spans"
)

// engine is the SDK between Start and shutdown: the queue, the cells, and two goroutines. The
// control loop acts on time (counts, minutes, CPU slots); the sender sends one request at a time.
type engine struct {
	config
	threadClock bool // CPU is timed, and threads are locked
	slots       cpuslots.Bounds
	walkable    bool         // stacks can be walked by their frame pointers
	offset      atomic.Int64 // Unix time minus now()
	ring        *ring.Ring[record]
	batchMask   uint64 // a batch is full when these bits of the ring's count are 0
	headroom    int    // places kept free while a request is in flight
	cells       *cellTable
	intervals   intervalList
	counters    counters
	probe       probeCosts
	hooks       atomic.Int64 // trace hooks of the program that are running
	policy      policy
	closing     bool        // no method is switched on any longer; guarded by registry.mu
	ratesServed atomic.Bool // rates served by a collector are in force

	loopState
	senderState
	ratesSources

	wake     chan struct{} // to the sender: something is worth sending
	crowded  chan struct{} // to the control loop: the queue has little headroom left
	stopping chan struct{}
	stopped  sync.WaitGroup
	deadline context.Context // ends at the deadline of shutdown
	giveUp   context.CancelFunc
	http     *http.Client
}

// loopState is owned by the control loop: the last interval, the budget, and the age of rates.
type loopState struct {
	lastCut     int64 // Unix ns
	lastCutAt   int64 // in now()'s time
	lastCPU     int64
	lastOwn     ownWork
	lastCutDone chan struct{} // closed by the final cut
	budget      budget
	ratesUntil  int64 // in now()'s time: the end of their freshness
}

// senderState is owned by the sender, except for the atomic fields.
type senderState struct {
	out           func(*request) (export.Outcome, error) // sends or prints; the error describes the last fault
	lastFault     error                                  // of the last request
	records       []record                               // reused
	cellsPending  bool                                   // the last request did not hold all cells
	delivering    atomic.Bool
	inFlightCalls atomic.Int64 // calls in the request that is in flight
	spans         spans.Writer
	resource      []byte
}

// ratesSources are the sources of rates while the program runs.
type ratesSources struct {
	poller      *export.Poller        // nil = rates are not polled
	servedRates chan *rateTable       // from the poller to the control loop
	methodWatch *methodfile.Watch     // nil = there is no method file
	methodFiles chan *methodfile.File // from followFile to the control loop
	polling     context.Context       // ends when shutdown begins
	stopPolling context.CancelFunc
}

// counters are the engine's counters that no other part keeps.
type counters struct {
	dropped        atomic.Int64
	slotRefusals   atomic.Int64
	wallOnly       atomic.Int64 // methods whose CPU is no longer timed
	traceFaults    atomic.Int64
	reloads        atomic.Int64 // of the method file
	fileFaults     atomic.Int64
	states         [cpuStates]atomic.Int64
	recovered      atomic.Int64
	sent           atomic.Int64 // spans
	failed         atomic.Int64
	retried        atomic.Int64
	packCPU        atomic.Int64 // ns
	waits          atomic.Int64 // of timed calls
	unknownOutcome atomic.Int64 // measurements in requests of unknown outcome
}

var messages = messagelog.New(os.Stderr, time.Minute)

// switchOff switches every method off. registry.mu is held.
func (e *engine) switchOff() {
	for _, m := range registry.ordered {
		m.setPlan(nil, false)
	}
}

// startWorker starts a goroutine of the engine. A panic in it must not end the program:
// it is counted, logged once, and the work is started again.
func (e *engine) startWorker(work func()) {
	e.stopped.Add(1)
	go func() {
		defer e.stopped.Done()
		for !e.attempt(work) {
			select {
			case <-e.deadline.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}()
}

// attempt calls work and reports whether it returned without a panic.
func (e *engine) attempt(work func()) (done bool) {
	defer func() {
		if fault := recover(); fault != nil {
			e.counters.recovered.Add(1)
			messages.Logf("recovered from a fault of its own: %v", fault)
		}
	}()
	work()
	return true
}

// offer queues a finished call, or aggregates it if the queue is full.
func (e *engine) offer(r *record) {
	p, at := e.ring.Claim()
	if p == nil {
		e.counters.dropped.Add(1)
		e.aggregateOverflow(r)
		if e.headroom > 0 {
			e.requestHeadroom()
		}
		return
	}
	p.Record = *r
	e.publish(p, at)
}

// publish completes a claimed place and wakes the sender whenever another batch is full.
func (e *engine) publish(p *ring.Place[record], at uint64) {
	p.Publish(at)
	if (at+1)&e.batchMask == 0 {
		e.wakeSender()
		if e.headroom > 0 && e.ring.Length() > len(e.ring.Places)-e.headroom {
			e.requestHeadroom()
		}
	}
}

func (e *engine) aggregateOverflow(r *record) {
	e.counters.states[r.state].Add(1)
	e.counters.waits.Add(int64(r.waits))
	e.cells.addOverflow(r, e.unix(r.start))
}

func (e *engine) wakeSender() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// anchor updates the offset between now() and the wall clock: over days the two drift apart by
// milliseconds, and a suspended machine stops one of them.
func (e *engine) anchor() { e.offset.Store(hostclock.Wall() - now()) }

func (e *engine) unix(mono int64) int64 { return mono + e.offset.Load() }
func (e *engine) mono(unix int64) int64 { return unix - e.offset.Load() }
