package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Proxy stands in front of a collector's HTTP endpoint and injects faults by a plan.
type Proxy struct {
	target string // host:port
	plan   func(n int) Fault
	server *http.Server
	client *http.Client
	listen string

	mu       sync.Mutex
	requests int
	tally    Tally
	kept     []kept // the last acknowledged requests
	faults   []error
}

// Tally counts the actions of a proxy.
type Tally struct {
	Forwarded    int // and answered
	Acknowledged int // by the collector, whether or not the sender learned of it
	Dropped      int // lost answers
	Refused      int
	Swallowed    int
	Repeated     int
	Unreachable  int // the collector accepted no connection
}

// kept is a request that the collector acknowledged.
type kept struct {
	path   string
	header http.Header
	body   []byte
}

const (
	maxKept = 64
	maxBody = 64 << 20
)

// NewProxy starts a proxy in front of target (host:port). plan returns the fault for the n-th
// request, counted from 1.
func NewProxy(target string, plan func(n int) Fault) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		target: target, plan: plan, listen: listener.Addr().String(),
		client: &http.Client{Timeout: 2 * time.Minute},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.fault(err)
		}
	}()
	return p, nil
}

// Endpoint returns the base URL that senders use.
func (p *Proxy) Endpoint() string { return "http://" + p.listen }

// Tally returns the counts so far.
func (p *Proxy) Tally() Tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tally
}

// Close ends the proxy. It returns the proxy's own errors, not the planned faults.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.client.CloseIdleConnections()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(append(p.faults, err)...)
}

func (p *Proxy) fault(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, err)
}

func (p *Proxy) count(add func(*Tally)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	add(&p.tally)
}

// ServeHTTP handles a request by the plan.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // the sender closed the connection
	}
	p.mu.Lock()
	p.requests++
	n := p.requests
	p.mu.Unlock()
	f := p.plan(n)
	switch f.kind {
	case refuse:
		p.count(func(t *Tally) { t.Refused++ })
		w.Header().Set("Retry-After", strconv.Itoa(int(f.delay/time.Second)))
		http.Error(w, "refused by plan", f.status)
		return
	case blackHole:
		p.count(func(t *Tally) { t.Swallowed++ })
		wait(r.Context(), f.delay)
		panic(http.ErrAbortHandler)
	}

	sent := kept{path: r.URL.Path, header: r.Header.Clone(), body: body}
	// Without the sender's context: a request in flight arrives even if its sender has stopped
	// waiting.
	answer, err := p.send(context.WithoutCancel(r.Context()), sent)
	if err != nil {
		p.count(func(t *Tally) { t.Unreachable++ })
		panic(http.ErrAbortHandler)
	}
	if answer.status < 300 {
		p.keep(sent)
	}
	switch f.kind {
	case dropAnswer:
		p.count(func(t *Tally) { t.Dropped++ })
		panic(http.ErrAbortHandler)
	case repeat:
		if err := p.Repeat(context.WithoutCancel(r.Context())); err != nil {
			p.fault(err)
		}
	}
	wait(r.Context(), f.delay)
	p.count(func(t *Tally) { t.Forwarded++ })
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (p *Proxy) send(ctx context.Context, k kept) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.target+k.path, bytes.NewReader(k.body))
	if err != nil {
		return answer{}, err
	}
	request.Header = k.header.Clone()
	request.Header.Del("Connection")
	response, err := p.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	header := response.Header.Clone()
	header.Del("Content-Length")
	return answer{response.StatusCode, header, body}, nil
}

func (p *Proxy) keep(k kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.Acknowledged++
	p.kept = append(p.kept, k)
	if len(p.kept) > maxKept {
		p.kept = p.kept[1:]
	}
}

// Repeat sends the oldest kept request again, byte for byte, and fails unless the collector
// acknowledges it again.
func (p *Proxy) Repeat(ctx context.Context) error {
	p.mu.Lock()
	if len(p.kept) == 0 {
		p.mu.Unlock()
		return errors.New("nothing was acknowledged that could be repeated")
	}
	oldest := p.kept[0]
	p.kept = append(p.kept[1:len(p.kept):len(p.kept)], oldest)
	p.mu.Unlock()
	answer, err := p.send(ctx, oldest)
	if err != nil {
		return fmt.Errorf("repeating a request: %w", err)
	}
	if answer.status >= 300 {
		return fmt.Errorf("repeating a request: status %d: %s", answer.status, answer.body)
	}
	p.count(func(t *Tally) { t.Repeated++ })
	return nil
}

// RepeatAll sends every kept request again.
func (p *Proxy) RepeatAll(ctx context.Context) error {
	p.mu.Lock()
	n := len(p.kept)
	p.mu.Unlock()
	for range n {
		if err := p.Repeat(ctx); err != nil {
			return err
		}
	}
	return nil
}
