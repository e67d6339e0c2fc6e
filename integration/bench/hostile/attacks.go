package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/corehour/corehour/integration/harness"
)

// attack is the load of one hostile host.
type attack struct {
	services int
	end      time.Time

	flooded  float64 // accepted measurements per second
	requests atomic.Int64
	refused  atomic.Int64
	limited  atomic.Int64 // spans that the memory limiter refused
}

// attackInAllWays runs all attacks at once: once each, or as long as the victims send.
func (a *attack) attackInAllWays(ctx context.Context, c *harness.Collector) error {
	connection, err := clientFrom(attackerAddress, c.GRPC)
	if err != nil {
		return err
	}
	defer connection.Close()
	client, web := ptraceotlp.NewGRPCClient(connection), httpFrom(attackerAddress)
	defer web.CloseIdleConnections()

	// Finite attacks run to their end, even after the victims are done.
	once := context.WithoutCancel(ctx)
	return together(
		func() error { return a.bombs(once, c, web) },
		func() error { return a.extremes(once, client) },
		func() error { return a.invent(once, client) },
		func() error { return a.questions(once, c, web) },
		func() error { return a.halfSent(ctx, c) },
		func() error { return a.flood(ctx, client) },
	)
}

func together(all ...func() error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, do := range all {
		wg.Go(func() { errs[i] = do() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// export sends a request. For a request that the memory limiter refuses, it counts the valid spans:
// the receiver has dropped the others earlier, for its own reasons.
func (a *attack) export(ctx context.Context, client ptraceotlp.GRPCClient, td ptrace.Traces, valid int) (ok bool) {
	a.requests.Add(1)
	_, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	switch {
	case err == nil || ctx.Err() != nil:
	case strings.Contains(err.Error(), "high memory usage"):
		a.limited.Add(int64(valid))
	default:
		a.refused.Add(1)
	}
	return err == nil
}

func (a *attack) do(web *http.Client, request *http.Request) error {
	a.requests.Add(1)
	answer, err := web.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		a.refused.Add(1)
	}
	return nil
}

// bombs sends requests of some kilobytes that take up to 1.5 GB when they are decoded.
func (a *attack) bombs(ctx context.Context, c *harness.Collector, web *http.Client) error {
	var all []func() error
	for n := range 64 {
		var body bytes.Buffer
		w := gzip.NewWriter(&body)
		_, _ = w.Write(bytes.Repeat([]byte{0x0a, 0}, 10_000_000>>(n%8)))
		_ = w.Close()
		all = append(all, func() error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.HTTP+"/v1/traces", &body)
			if err != nil {
				return err
			}
			request.Header.Set("Content-Type", "application/x-protobuf")
			request.Header.Set("Content-Encoding", "gzip")
			return a.do(web, request)
		})
	}
	return together(all...)
}

// halfSent opens connections and sends bodies that never end.
func (a *attack) halfSent(ctx context.Context, c *harness.Collector) error {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, _ = w.Write(make([]byte, 16<<20))
	_ = w.Close()
	dial := dialFrom(attackerAddress)
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	for range 200 {
		conn, err := dial(ctx, c.HTTP)
		if err != nil {
			break // the victims are done
		}
		open = append(open, conn)
		_, _ = fmt.Fprintf(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\nContent-Length: 10000000\r\n\r\n")
		_, _ = conn.Write(body.Bytes()[:body.Len()-32])
	}
	<-ctx.Done()
	return nil
}

// forge sends the batch numbers of a process before that process does. It retries requests that the
// memory limiter refuses: forged numbers that never arrive prove nothing.
func (a *attack) forge(ctx context.Context, c *harness.Collector) error {
	connection, err := clientFrom(attackerAddress, c.GRPC)
	if err != nil {
		return err
	}
	defer connection.Close()
	client := ptraceotlp.NewGRPCClient(connection)
	for n := range int64(1000) {
		td, spans := newRequest(forgedVictim, "1.0", "pod-0", "victim-host", a.end.Add(-time.Hour), n+1, 0)
		addProcess(spans, uint64(3_000_000+n), a.end.Add(-30*time.Minute), a.end.Add(-29*time.Minute), 0, false)
		for tries := 0; !a.export(ctx, client, td, td.SpanCount()); tries++ {
			if tries == 100 || ctx.Err() != nil {
				return fmt.Errorf("forged batch %d is refused", n+1)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// flood sends measurements of 60,000 invented methods, 100 times as many as the sampler keeps. The
// memory limiter refuses some of them.
func (a *attack) flood(ctx context.Context, client ptraceotlp.GRPCClient) error {
	const each, services, methods = 2000, 20, 3000
	began, sent, accepted := time.Now(), 0, 0
	defer func() { a.flooded = float64(accepted) / time.Since(began).Seconds() }()
	turns := time.NewTicker(time.Second * each / (100 * totalRecords))
	defer turns.Stop()
	from, to := a.end.Add(-10*time.Minute), a.end.Add(-9*time.Minute)
	for ctx.Err() == nil {
		turn := sent / each
		td, spans := newRequest(fmt.Sprint("flood-", turn%services), "1.0", "one", "flood", a.end.Add(-time.Hour), int64(turn/services+1), 0)
		for i := range each {
			span := newSpan(spans, "call", uint64(20_000_000+sent), from, to)
			span.Attributes().PutStr("code.function.name", fmt.Sprint("flood.M", (turn/services*each+i)%methods))
			span.Attributes().PutDouble("corehour.p", 1)
			sent++
		}
		if a.export(ctx, client, td, td.SpanCount()) {
			accepted += each
		}
		select {
		case <-ctx.Done():
		case <-turns.C:
		}
	}
	return nil
}

// invent sends services and methods that do not exist. One has the name of the victim; some claim
// the host of the victims, with their methods.
func (a *attack) invent(ctx context.Context, client ptraceotlp.GRPCClient) error {
	const perRequest = 500
	for from := 0; from < a.services; from += perRequest {
		td := ptrace.NewTraces()
		for n := from; n < from+perRequest; n++ {
			host := "victim-host"
			if n%2 == 0 {
				host = fmt.Sprint("host-", n)
			}
			name := fmt.Sprint("invented-", n)
			if n == 0 {
				name = victim
			}
			one, spans := newRequest(name, "1.0", "one", host, a.end.Add(-time.Hour), 1, 6)
			one.ResourceSpans().At(0).Resource().Attributes().PutStr("service.namespace", "evil")
			methods := []string{"shop/cart.(*Cart).Total"}
			for m := range 5 {
				methods = append(methods, fmt.Sprintf("invented.M%d_%d", n, m))
			}
			addCounts(spans, uint64(10_000_000+2*n), a.end.Add(-10*time.Minute), a.end.Add(-9*time.Minute), methods, 1)
			one.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
		}
		a.export(ctx, client, td, td.SpanCount())
	}
	return nil
}

// questions polls for rates of services that do not exist, and sends invalid queries.
func (a *attack) questions(ctx context.Context, c *harness.Collector, web *http.Client) error {
	r := rand.New(rand.NewPCG(5, 6))
	texts := []string{"", "a", strings.Repeat("x", 5000), "\x00", "../..", "a\xffb", "%00", "-1", "NaN", "9999999999999999999s", "25s", stockVictim, victim}
	for n := range 3000 {
		path := fmt.Sprint("/sampling?service=invented-", n)
		if n%2 == 1 {
			values := url.Values{}
			for _, name := range []string{"service", "namespace", "environment", "version", "instance", "evil"} {
				if r.IntN(2) == 0 {
					values.Add(name, texts[r.IntN(len(texts))])
				}
			}
			path = []string{"/v1/rates?", "/sampling?"}[r.IntN(2)] + values.Encode()
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Rates+path, nil)
		if err != nil {
			return err
		}
		if err := a.do(web, request); err != nil {
			return errors.Join(fmt.Errorf("asking for rates: %q", path), err)
		}
	}
	return nil
}
