//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"

	"github.com/corehour/corehour/integration/harness"
)

const (
	base, head = "1.0.0", "1.1.0"
	// startPatience is long, because a shared machine can be slow for minutes.
	startPatience = 3 * time.Minute
	stopPatience  = 30 * time.Second
	// profileLength is the length of one profile. There is one after the other.
	profileLength = time.Minute
	// workers is the number of rounds of one process that can be under way.
	workers = 4
)

// process is one process of the server, with its client.
type process struct {
	*harness.Process
	dir       string
	version   string
	addresses []string
	client    client

	rounds, failed, late atomic.Int64
	lastError            atomic.Value
	profiles             []*profile.Profile
	profiled             time.Duration
	cpu                  time.Duration // while it was profiled
}

func (r *rollout) start(ctx context.Context, binary, version string, n int) (p *process, err error) {
	p = &process{dir: filepath.Join(r.dir, fmt.Sprintf("%s-%d", version, n)), version: version}
	if p.addresses, err = harness.FreeAddresses(3); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	args, err := r.server.args(p)
	if err != nil {
		return nil, err
	}
	_, rates, _ := net.SplitHostPort(r.collector.Rates)
	p.Process, err = harness.Start(r.name, filepath.Join(p.dir, "log"), []string{
		"COREHOUR_SAMPLE=0.01", // as docs/start/go-service.md
		"COREHOUR_ENDPOINTS=" + r.collector.Endpoint(),
		"COREHOUR_RATES_ENDPOINT=:" + rates,
		"OTEL_SERVICE_NAME=" + r.name,
		"OTEL_RESOURCE_ATTRIBUTES=service.version=" + version,
	}, binary, args...)
	if err != nil {
		return nil, err
	}
	err = harness.Await(ctx, startPatience, r.name+" to be ready", func(ctx context.Context) (bool, error) {
		if p.Ended() {
			return false, errors.New(p.LastLines(10))
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.ready(p), nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, err
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
	if err == nil {
		p.client, err = r.server.connect(ctx, p)
	}
	return p, err
}

// load sends rounds at a fixed rate until the context ends. A round for which no worker is free is not made up for.
func (p *process) load(ctx context.Context, rate float64) {
	due := make(chan int)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for n := range due {
				if err := p.client.round(ctx, n); err != nil && ctx.Err() == nil {
					p.failed.Add(1)
					p.lastError.Store(err.Error())
				}
				p.rounds.Add(1)
			}
		})
	}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer ticker.Stop()
	begin := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			due <- n
		}
	}
	close(due)
	running.Wait()
	p.late.Store(int64(time.Since(begin).Seconds()*rate) - p.rounds.Load())
}

// takeProfiles takes CPU profiles until the context ends, the last of them before the end.
func (p *process) takeProfiles(ctx context.Context, url string, until time.Time) error {
	for {
		length := min(profileLength, time.Until(until).Truncate(time.Second))
		if length < time.Second {
			return nil
		}
		before, err := harness.CPUOf(p.Pid())
		if err != nil {
			return err
		}
		begin := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s?seconds=%d", url, int(length.Seconds())), nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s: %s", url, answer.Status, text)
		}
		if err != nil {
			return err
		}
		after, err := harness.CPUOf(p.Pid())
		if err != nil {
			return err
		}
		parsed, err := profile.ParseData(text)
		if err != nil {
			return err
		}
		p.profiles = append(p.profiles, parsed)
		p.profiled += time.Since(begin)
		p.cpu += after - before
	}
}
