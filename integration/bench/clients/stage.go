package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

const (
	// instances is the number of processes of each version: fewer do not suffice for a verdict.
	instances = 3
	workers   = 4
	// warmUp is long enough for 50 kept traces. After these the trace ids show a ratio.
	warmUp = 4 * time.Second
	// patience is the longest that programs may take to start and to end.
	patience = 5 * time.Minute
)

// Versions. The warm-up has its own, so that its calls are compared separately.
const (
	warm   = "0.9"
	before = "1.0"
	after  = "1.1"
)

// config keeps all spans of clients, with exceptions. Rates of roots are those that the collector
// serves.
const config = `
receivers: {method_spans: {assumed_rates: {generated: 1}}}
processors: {adaptive_sampler: {methods_file: %q, interval: 1s}}
extensions: {sampling_rates: {grpc: {endpoint: %q}}}
`

// methods has one rate of roots from the start: after a change of the served rate the next 500
// traces show no ratio. The collector thins nothing else.
var methods = fmt.Sprintf(`{"version": 1, "defaults": {"rate": %v}, "methods": [
	{"match": "billing/orders.total", "rate": 1}, {"match": "billing/orders.check*", "rate": 1}, {"match": "go.opentelemetry.io/*", "rate": 1},
	{"match": "storefront/store*", "rate": 1}, {"match": "storefront/pages*", "rate": 1},
	{"match": "Client.load", "rate": 1}, {"match": "Client.render", "rate": 1}, {"match": "telemetrygen.*", "rate": 1}]}`, ratio)

// stage runs a cell.
type stage struct {
	matrixCell
	bin, dir  string
	duration  time.Duration
	collector *harness.Collector
	ratesGRPC string
	did       map[key]did
	begun     func() // called when the clients have begun, unless nil
}

// key names a method of a version.
type key struct{ service, version, method string }

// did is a client's own record of one method.
type did struct {
	Calls int64 `json:"calls"`
}

// play runs the clients of a cell and scores the results.
func (s *stage) play(ctx context.Context) ([]score, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	defer s.collector.Close()
	s.did = map[key]did{}
	var err error
	if s.once {
		err = s.runOnce(ctx)
	} else {
		err = s.runVersions(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := s.collector.Stop(); err != nil {
		return nil, err
	}
	var scores []score
	for _, service := range s.services {
		score, err := s.judge(ctx, service)
		if err != nil {
			return nil, err
		}
		scores = append(scores, score)
	}
	return scores, nil
}

func (s *stage) start(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	addresses, err := harness.FreeAddresses(1)
	if err != nil {
		return err
	}
	s.ratesGRPC = addresses[0]
	file := filepath.Join(s.dir, "methods.json")
	if err := os.WriteFile(file, []byte(methods), 0o644); err != nil {
		return err
	}
	s.collector, err = harness.NewCollector(filepath.Join(s.bin, harness.CollectorBinary), s.dir, "", fmt.Sprintf(config, file, s.ratesGRPC))
	if err != nil {
		return err
	}
	return s.collector.Start(ctx)
}

// runOnce runs a client that counts by its arguments.
func (s *stage) runOnce(ctx context.Context) error {
	service := s.services[0]
	p := process{service: service.name, version: before, grpc: s.collector.GRPC}
	running, err := s.launch(service.name, service.command(p))
	if err != nil {
		return err
	}
	if err := wait(ctx, running); err != nil {
		return err
	}
	for method, d := range service.did {
		s.did[key{service.name, before, method}] = d
	}
	return nil
}

// runVersions runs one process alone, from which the collector learns the operations and ratios,
// and then two versions at the same time.
func (s *stage) runVersions(ctx context.Context) error {
	if err := s.runTogether(ctx, warmUp, map[string]int{warm: 1}, s.collector.Rates); err != nil {
		return err
	}
	rates := s.collector.Rates
	if s.served != "" {
		asking := s.services[len(s.services)-1].name
		err := harness.Await(ctx, patience, "a rate of "+s.served, func(ctx context.Context) (bool, error) {
			byName, err := s.collector.Strategies(ctx, asking)
			return byName[s.served] == ratio, err
		})
		if err != nil {
			return err
		}
	}
	if s.lateRates {
		late := newLate(rates)
		defer late.Close()
		rates = late.address()
		s.begun = late.open
	}
	return s.runTogether(ctx, s.duration, map[string]int{before: instances, after: instances}, rates)
}

// runTogether runs processes of versions that begin at the same time.
func (s *stage) runTogether(ctx context.Context, duration time.Duration, versions map[string]int, rates string) error {
	var calls []string
	var servers, senders []*harness.Process
	reports := map[string]key{}
	defer func() {
		for _, p := range append(servers, senders...) {
			_ = p.Kill() // those left by an error; the others have ended
		}
	}()
	var name string // of the last version: the file to wait for
	for version := range versions {
		name += version
	}
	begin := filepath.Join(s.dir, "begin-"+name)
	for _, service := range s.services {
		var started []string // reports
		for version, n := range versions {
			for i := range n {
				p := process{
					endpoint: s.collector.HTTP, grpc: s.collector.GRPC, rates: rates, ratesGRPC: s.ratesGRPC,
					service: service.name, version: version, instance: fmt.Sprintf("%s-%s-%d", service.name, version, i),
					begin: begin, seconds: duration.Seconds(), workers: workers, slow: 1,
				}
				p.report = filepath.Join(s.dir, p.instance+".json")
				if version == after && service.slower != "" {
					p.slow = 2
				}
				if service.serves {
					addresses, err := harness.FreeAddresses(1)
					if err != nil {
						return err
					}
					p.listen = addresses[0]
				} else {
					p.calls = calls
				}
				running, err := s.launch(p.instance, service.command(p))
				if err != nil {
					return err
				}
				if service.serves {
					servers, calls = append(servers, running), append(calls, "http://"+p.listen)
				} else {
					senders = append(senders, running)
				}
				started = append(started, p.report)
				reports[p.report] = key{service: service.name, version: version}
			}
		}
		if err := awaitReady(ctx, started, append(servers, senders...)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(begin, nil, 0o644); err != nil {
		return err
	}
	if s.begun != nil {
		s.begun()
	}
	if err := wait(ctx, senders...); err != nil {
		return err
	}
	for _, p := range servers {
		if err := p.Stop(patience); err != nil {
			return err
		}
	}
	return s.read(reports)
}

func (s *stage) launch(name string, c command) (*harness.Process, error) {
	return harness.Start(name, filepath.Join(s.dir, name+".log"), c.env, c.binary, c.args...)
}

func awaitReady(ctx context.Context, reports []string, processes []*harness.Process) error {
	return harness.Await(ctx, patience, "the clients to have started", func(context.Context) (bool, error) {
		for _, p := range processes {
			if p.Ended() {
				return false, fmt.Errorf("%s ended; %s", p.Name, p.LastLines(10))
			}
		}
		for _, report := range reports {
			if _, err := os.Stat(report + ".ready"); err != nil {
				return false, nil
			}
		}
		return true, nil
	})
}

func wait(ctx context.Context, processes ...*harness.Process) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, p := range processes {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// read adds up the clients' own counts.
func (s *stage) read(reports map[string]key) error {
	for report, of := range reports {
		text, err := os.ReadFile(report)
		if err != nil {
			return err
		}
		var methods map[string]did
		if err := json.Unmarshal(text, &methods); err != nil {
			return fmt.Errorf("%s: %w", report, err)
		}
		for method, d := range methods {
			of.method = method
			d.Calls += s.did[of].Calls
			s.did[of] = d
		}
	}
	return nil
}

// lateBy is how long new processes send requests before they get a rate.
const lateBy = 1500 * time.Millisecond

// late is a proxy of the rates that holds requests until it is opened.
type late struct {
	*httptest.Server
	opened chan struct{}
}

func newLate(target string) *late {
	l := &late{opened: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target})
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-l.opened:
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	return l
}

func (l *late) address() string { return l.Listener.Addr().String() }

// open answers the held requests after lateBy.
func (l *late) open() { time.AfterFunc(lateBy, func() { close(l.opened) }) }
