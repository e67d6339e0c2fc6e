package corehour

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/frames"
	"github.com/corehour/corehour/sdk/internal/histogram"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/methodfile"
	"github.com/corehour/corehour/sdk/internal/ring"
)

var (
	errStarted = errors.New("corehour: Start: already started; shut down first")
	errEnding  = errors.New("corehour: Start: the shutdown before has not ended: a request is still with the writer or the HTTP client; start again once it is let go")
)

// Start switches the probes on and begins to send. The returned function sends the remaining data,
// until its context ends (10 s if it has no deadline), and switches everything off. After it, Start
// can be called again, unless its error reports a request that is still in flight.
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
		http:        export.NewHTTP(c.client, c.tls),
	}
	e.lastCutDone = make(chan struct{})
	e.resource = encodeResource(attributes)
	e.servedRates, e.methodFiles = make(chan *rateTable), make(chan *methodfile.File)
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

// install makes e the engine of the program and starts it.
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
	awaited := e.namedOnly && (e.policy.file != nil || e.poller != nil) // packages will declare methods later
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

// assignPlans gives every method its plan and returns the number of methods that are on. Calls that
// ended after the last interval of the previous engine are reported with the first interval of this
// one. registry.mu is held.
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
