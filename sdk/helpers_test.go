package corehour

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"
)

// force gives a method new settings that precede all other sources.
func force(e *engine, m *Method, s settings) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	m.options.override = override{mode: &s.mode, rate: &s.rate, cpuRate: &s.cpuRate, tail: &s.tail, stack: &s.stack}
	m.options.noCaller = s.noCaller
	e.updatePlan(m)
}

// keepOptions restores the method's options at the end of the test.
func keepOptions(t testing.TB) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	kept := map[*Method]methodOptions{}
	for _, m := range registry.ordered {
		kept[m] = m.options
	}
	t.Cleanup(func() {
		registry.mu.Lock()
		defer registry.mu.Unlock()
		for m, options := range kept {
			m.options = options
		}
	})
}

// collector is a server in memory that decodes requests. answer decides the client's view, before and
// after the request is accepted.
type collector struct {
	mu       sync.Mutex
	requests []wireRequest
	faults   []error
	answer   func(*http.Request) (take bool, status int, header http.Header, lost bool)
}

var errLost = errors.New("the answer was lost")

func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	take, status, header, lost := true, http.StatusOK, http.Header{}, false
	if c.answer != nil {
		take, status, header, lost = c.answer(r)
	}
	if take {
		c.receive(body)
	}
	if lost {
		return nil, errLost
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: http.NoBody, Request: r}, nil
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	plain, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

func (c *collector) receive(body []byte) {
	request, err := readRequest(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.faults = append(c.faults, err)
	}
	c.requests = append(c.requests, request)
}

// all returns the accepted requests without repeats, like the real receiver.
func (c *collector) all(t *testing.T) []wireRequest {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.faults {
		t.Errorf("a request that cannot be read: %v", err)
	}
	seen := map[int64]bool{}
	var once []wireRequest
	for _, r := range c.requests {
		seq, _ := r.scope["corehour.batch.seq"].(int64)
		if seq < 1 {
			t.Errorf("batch number %d", seq)
		}
		if !seen[seq] {
			seen[seq] = true
			once = append(once, r)
		}
	}
	return once
}

// spans returns all spans of a kind.
func (c *collector) spans(t *testing.T, kind string) []wireSpan {
	t.Helper()
	var found []wireSpan
	for _, r := range c.all(t) {
		for _, s := range r.spans {
			if s.text("corehour.kind") == kind {
				found = append(found, s)
			}
		}
	}
	return found
}

func (c *collector) client() *http.Client { return &http.Client{Transport: c} }

// start starts the SDK with the settings of a test. The returned function shuts down and fails the test if
// anything was not delivered.
func start(t testing.TB, options ...Option) (*engine, func()) {
	t.Helper()
	keepOptions(t)
	shutdown, err := Start(context.Background(), options...)
	if err != nil {
		t.Fatal(err)
	}
	registry.mu.Lock()
	e := registry.engine
	registry.mu.Unlock()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			if err := shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return e, stop
}

func counted(c *collector, t *testing.T) map[string]int64 {
	t.Helper()
	total := map[string]int64{}
	for _, s := range c.spans(t, "counts") {
		methods, _ := s.attrs["corehour.counts.methods"].([]any)
		calls, _ := s.attrs["corehour.counts.calls"].([]any)
		if len(methods) != len(calls) {
			t.Fatalf("%d methods and %d calls", len(methods), len(calls))
		}
		for i := range methods {
			total[methods[i].(string)] += calls[i].(int64)
		}
	}
	return total
}

// trace calls the client's hooks for a connection, as a real transport does.
func trace(r *http.Request) {
	if hooks := httptrace.ContextClientTrace(r.Context()); hooks != nil && hooks.GotConn != nil {
		hooks.GotConn(httptrace.GotConnInfo{})
	}
}

// startWith returns an engine without running goroutines: the test is its control loop and sender.
func startWith(t testing.TB, change func(*config)) (*engine, *config) {
	t.Helper()
	keepOptions(t)
	c := defaultConfig()
	c.random, c.compression = seeded(1), "gzip"
	change(&c)
	e, err := newEngine(c)
	if err != nil {
		t.Fatal(err)
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.engine != nil {
		t.Fatal("another engine is installed")
	}
	e.assignPlans()
	t.Cleanup(func() { e.shutdownForTest() })
	return e, &e.config
}

// seeded returns a deterministic source of random numbers.
func seeded(seed uint64) func() uint64 {
	var mu sync.Mutex
	source := rand.NewPCG(seed, 0)
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Uint64()
	}
}

// renew gives a method a new plan with its own random numbers.
func renew(e *engine, m *Method, seed uint64) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	e.random = seeded(seed)
	m.replacePlan(newPlan(e, m, e.policy.settingsFor(m)))
}

// shutdownForTest ends such an engine, and discards its queue.
func (e *engine) shutdownForTest() {
	registry.mu.Lock()
	mine := registry.engine == e
	registry.mu.Unlock()
	if mine {
		e.cut(e.unix(now()), true) // like the control loop; otherwise the next test would get these calls
		e.shutdown(context.Background())
	}
}
