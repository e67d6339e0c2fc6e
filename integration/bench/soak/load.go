package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	processes   = 64 // each with at most one request in flight
	connections = 4
	attempt     = 10 * time.Second
	// patience is the longest that processes retry refused requests after the load has ended.
	patience = 2 * time.Minute
)

// sentCounts counts the offered measurements by outcome.
type sentCounts struct {
	measured, calls  int64 // of the accepted requests
	heldBack         int64 // measurements
	refused, unknown int64 // requests
}

func (t *sentCounts) offered() int64 { return t.measured + t.heldBack }

// offer sends measurements at a rate, at most as many as the processes can carry, until the time is
// over and every request is accepted.
func offer(ctx context.Context, address string, perSecond int, length time.Duration) (sentCounts, error) {
	var clients []ptraceotlp.GRPCClient
	for range connections {
		connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return sentCounts{}, err
		}
		defer connection.Close()
		clients = append(clients, ptraceotlp.NewGRPCClient(connection))
	}
	var t sentCounts
	due := make(chan struct{})
	failed := make(chan error, processes)
	overdue, cancel := context.WithTimeout(ctx, length+patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range processes {
		p := newProcess(rand.New(rand.NewPCG(uint64(i), 1)), i, clients[i%connections], &t)
		wg.Go(func() {
			if err := p.sendRequests(overdue, due); err != nil {
				failed <- err
			}
		})
	}
	begin := time.Now()
	interval := time.Duration(float64(batchSpans) / float64(perSecond) * float64(time.Second))
	for n := 0; ; n++ {
		at := begin.Add(time.Duration(n) * interval)
		if at.Sub(begin) >= length || ctx.Err() != nil {
			break
		}
		time.Sleep(time.Until(at))
		select {
		case due <- struct{}{}:
		default:
			t.heldBack += batchSpans
		}
	}
	close(due)
	wg.Wait()
	select {
	case err := <-failed:
		return t, err
	default:
		return t, ctx.Err()
	}
}

// sendRequests sends a request whenever one is due, and a final one.
func (p *process) sendRequests(ctx context.Context, due <-chan struct{}) error {
	for range due {
		if err := p.send(ctx, p.next(false)); err != nil {
			return err
		}
	}
	return p.send(ctx, p.next(true))
}

// send retries a request until it is accepted. The collector recognises a retry of an accepted
// request by its number.
func (p *process) send(ctx context.Context, request ptraceotlp.ExportRequest) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		try, cancel := context.WithTimeout(ctx, attempt)
		answer, err := p.client.Export(try, request)
		cancel()
		if err == nil {
			if n := answer.PartialSuccess().RejectedSpans(); n > 0 {
				return fmt.Errorf("%d spans were refused: %s", n, answer.PartialSuccess().ErrorMessage())
			}
			p.accepted()
			return nil
		}
		switch status.Code(err) {
		case codes.Unavailable, codes.ResourceExhausted:
			atomic.AddInt64(&p.tally.refused, 1)
		case codes.DeadlineExceeded, codes.Canceled:
			atomic.AddInt64(&p.tally.unknown, 1)
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a request was not taken in time: %w", err)
		case <-time.After(pause):
		}
	}
}
