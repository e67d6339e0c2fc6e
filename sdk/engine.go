package corehour

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/frames"
	"github.com/corehour/corehour/sdk/internal/histogram"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/messagelog"
	"github.com/corehour/corehour/sdk/internal/methodfile"
	"github.com/corehour/corehour/sdk/internal/ring"
	"github.com/corehour/corehour/sdk/internal/spans"
)

// engine is what lives between Start and shutdown: the queue, the cells, and two
// goroutines. The control loop acts on time (counts, minutes, CPU slots); the sender
// sends, one request at a time.
type engine struct {
	config
	threadClock bool // CPU is timed, and threads are locked
	slots       cpuslots.Bounds
	walkable    bool         // stacks, by their frame pointers
	offset      atomic.Int64 // Unix time minus now()
	ring        *ring.Ring[record]
	batchMask   uint64 // a batch is full when these bits of the ring's count are 0
	headroom    int    // places kept free while a request is in flight
	cells       *cellTable
	intervals   intervalList
	out         func(*request) (export.Outcome, error) // sends or prints; the error is what was wrong last
	fault       error                                  // of the last request; owned by the sender
	counters    counters
	probe       probeCosts
	hooks       atomic.Int64 // trace hooks of the program that run now
	policy      policy
	closing     bool // no method is switched on any more; guarded by registry.mu

	lastCut     int64 // Unix ns; owned by the control loop
	lastCutAt   int64 // by now()
	lastCPU     int64
	lastOwn     ownWork
	budget      budget // owned by the control loop, too
	lastCutDone chan struct{}

	records       []record // owned by the sender, reused
	cellsPending  bool     // the last request did not hold all cells
	delivering    atomic.Bool
	inFlightCalls atomic.Int64 // calls in the request that is in flight
	spans         spans.Writer
	resource      []byte

	wake     chan struct{} // to the sender: something is worth sending
	crowded  chan struct{} // to the control loop: the queue has little headroom left
	stopping chan struct{}
	stopped  sync.WaitGroup
	deadline context.Context // ends when shutdown may wait no longer
	giveUp   context.CancelFunc

	http        *http.Client
	poller      *export.Poller        // nil = rates are not polled
	methodWatch *methodfile.Watch     // nil = there is no method file
	methodFiles chan *methodfile.File // from followFile to the control loop
	servedRates chan *rateTable       // from the poller to the control loop
	ratesUntil  int64                 // as now() counts: then they are no longer fresh; owned by the control loop
	ratesServed atomic.Bool           // rates are in force that a collector served
	polling     context.Context       // ends when shutdown begins
	stopPolling context.CancelFunc
}

// counters are those of an engine that are not kept elsewhere.
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

var (
	errStarted = errors.New("corehour: Start: already started; shut down first")
	errEnding  = errors.New("corehour: Start: the shutdown before has not ended: a request is still with the writer or the HTTP client; start again once it is let go")
)

// Start switches the probes on and begins to send. The function it returns sends
// what is left, until its context ends (10 s if it has no deadline), and switches
// everything off; after it, Start may be called again, unless its error says that a
// request is held up.
func Start(ctx context.Context, options ...Option) (shutdown func(context.Context) error, err error) {
	c := defaultConfig()
	c.fromEnvironment()
	for _, option := range options {
		if option != nil {
			option(&c)
		}
	}
	if err := c.check(); err != nil {
		return nothing, fmt.Errorf("corehour: Start: %w", err)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return nothing, fmt.Errorf("corehour: Start: %w", err)
	}
	if c.disabled {
		return nothing, nil
	}
	e, err := newEngine(c)
	if err != nil {
		return nothing, fmt.Errorf("corehour: Start: %w", err)
	}
	err = e.install()
	messages.Write()
	if err != nil {
		return nothing, err
	}
	var once sync.Once
	var result error
	return func(ctx context.Context) error {
		once.Do(func() { result = e.shutdown(ctx) })
		return result
	}, nil
}

func nothing(context.Context) error { return nil }

func newEngine(c config) (*engine, error) {
	histogram.Prepare()
	attributes := resourceOf(c.attributes)
	c.collectors = export.Rank(c.collectors, attributes["service.namespace"], attributes["service.name"], attributes["deployment.environment.name"])
	slots := c.cpuSlots()
	e := &engine{
		config:      c,
		threadClock: slots > 0,
		slots:       cpuslots.Of(slots),
		walkable:    frames.Trusted(),
		ring:        ring.New[record](c.queue),
		batchMask:   uint64(c.batch - 1),
		headroom:    headroomOf(&c),
		cells:       newCellTable(c.cells),
		wake:        make(chan struct{}, 1),
		crowded:     make(chan struct{}, 1),
		stopping:    make(chan struct{}),
		lastCutDone: make(chan struct{}),
		resource:    encodeResource(attributes),
		servedRates: make(chan *rateTable),
		methodFiles: make(chan *methodfile.File),
		http:        export.NewHTTP(c.client, c.tls),
	}
	e.deadline, e.giveUp = context.WithCancel(context.Background())
	e.polling, e.stopPolling = context.WithCancel(e.deadline)
	e.anchor()
	e.lastCutAt = now()
	e.lastCut = e.unix(e.lastCutAt)
	e.lastCPU, _ = hostclock.ProcessCPU()
	e.budget.at = now()
	e.probe.prepare(e)
	e.calibrate()
	if c.methodFile != "" {
		e.methodWatch = &methodfile.Watch{Path: c.methodFile, Strict: c.strictMethods, Logf: messages.Logf}
	}
	var err error
	if e.policy, err = newPolicy(c, e.methodWatch); err != nil {
		return nil, err
	}
	client := export.Client{HTTP: e.http, Agent: "corehour-go/" + Version, Timeout: c.timeout, Headers: c.headers, URLs: c.collectors}
	poster := &export.Poster{Client: client, Retry: c.retry, Retried: &e.counters.retried, PackCPU: &e.counters.packCPU, Closing: e.stopping, Packer: export.Packer{Gzip: c.compresses()}}
	e.out = func(r *request) (export.Outcome, error) {
		return poster.Deliver(e.deadline, func(body []byte) []byte { return e.encode(body, r) })
	}
	if c.writer != nil {
		e.out = e.print
	}
	if c.rates != "" {
		if client.URLs, err = export.RatesURLs(c.rates, c.collectors); err != nil {
			return nil, err
		}
		client.Headers = c.headers.ForRates(c.rateHeaders, client.URLs, c.collectors, messages.Logf)
		e.poller = &export.Poller{Client: client, Query: export.RateQuery(attributes)}
	}
	return e, nil
}

// install makes this the engine of the program and sets it going.
func (e *engine) install() error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	switch {
	case registry.engine == nil:
	case registry.engine.closing:
		return errEnding
	default:
		return errStarted
	}
	on := e.assignPlans()
	if err := e.policy.strictlyUsed(); err != nil {
		e.switchOff()
		registry.engine = nil
		return fmt.Errorf("corehour: Start: %w", err)
	}
	awaited := e.namedOnly && (e.policy.file != nil || e.poller != nil) // the packages that declare methods follow
	if on == 0 && !awaited && (len(registry.ordered) > 0 || e.defaults.mode == Off) {
		messages.Logf("every method is off: set COREHOUR_SAMPLE=0.01, or name methods in the file of COREHOUR_METHODS")
	}
	e.startWorker(e.controlLoop)
	e.startWorker(e.send)
	if e.poller != nil {
		e.startWorker(e.poll)
	}
	if e.methodWatch != nil {
		go func() {
			for !e.attempt(e.followFile) {
			}
		}()
	}
	return nil
}

// assignPlans gives every method its plan and returns how many are on. Calls that were
// in flight when the previous engine ended, and were counted since its last interval,
// are reported with the first interval of this engine. registry.mu is held.
func (e *engine) assignPlans() (on int) {
	registry.engine = e
	registry.graph.follow(e.policy.file)
	for _, m := range registry.ordered {
		m.wallOnly, m.halvings, m.budgeted = "", 0, m.Calls()
		e.disableCPUOfStray(m)
		if e.updatePlan(m); m.plan.Load() != nil {
			on++
		}
	}
	return on
}

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

// anchor ties now() to the clock on the wall, again and again: over days the two
// part by milliseconds, and a suspended machine stops one of them.
func (e *engine) anchor() { e.offset.Store(hostclock.Wall() - now()) }

func (e *engine) unix(mono int64) int64 { return mono + e.offset.Load() }
func (e *engine) mono(unix int64) int64 { return unix - e.offset.Load() }
