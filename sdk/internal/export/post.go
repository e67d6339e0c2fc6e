// Package export sends the requests of the SDK by HTTP, determines whether they were accepted, and polls
// for rates. It does not know the contents of a request.
package export

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/messagelog"
)

// Outcome is the outcome of a request.
type Outcome uint8

const (
	Accepted Outcome = iota
	Refused          // definitely not accepted
	Unknown          // sent at least once, never answered
)

// Poster sends requests by OTLP/HTTP and determines their outcome.
type Poster struct {
	Client
	Retry   Retry
	Retried *atomic.Int64   // counts attempts after the first
	Closing <-chan struct{} // closed when the program is about to end
	PackCPU *atomic.Int64   // adds up the CPU time of building bodies, ns
	Packer
}

// Retry bounds how long one request is tried.
type Retry struct {
	First, Most, Total time.Duration
}

// attemptResult is the result of one attempt.
type attemptResult struct {
	outcome Outcome
	retry   bool          // worth another attempt
	notSent bool          // no connection was made
	wait    time.Duration // requested by the server
	fault   error
}

// pack locks the goroutine to its thread while it builds a body, because the clock is the thread's.
func (p *Poster) pack(encode func([]byte) []byte) []byte {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := hostclock.ThreadCPU()
	defer func() { p.PackCPU.Add(hostclock.ThreadCPU() - begin) }()
	return p.Pack(encode)
}

// Deliver sends a request until the context ends, and retries it with the same number where that can
// help. One attempt of unknown outcome makes the whole unknown unless a later one is accepted. The
// collector deduplicates by the number, so from then on retries go to that collector only. As long as
// nothing was sent, the next collector can get the request. fault is the fault of the last attempt.
func (p *Poster) Deliver(ctx context.Context, encode func([]byte) []byte) (result Outcome, fault error) {
	body := p.pack(encode)
	result = Refused
	start := time.Now()
	pause := p.Retry.First
	at := p.best()
	for {
		a := p.attempt(ctx, p.URLs[at], body)
		if a.outcome == Accepted {
			return Accepted, nil
		}
		if a.outcome == Unknown {
			result = Unknown
		}
		wait := time.Duration(float64(pause) * (0.5 + rand.Float64()))
		left := p.Retry.Total - time.Since(start)
		over := wait > left
		wait = max(wait, min(a.wait, left)) // the server's pause, if there is time
		if a.notSent && result == Refused {
			p.markDown(at)
			if next := p.best(); next != at {
				at, wait = next, 0
			}
		}
		pause = min(2*pause, p.Retry.Most)
		if !a.retry || over || !p.waitForRetry(ctx, wait) {
			return result, a.fault
		}
		p.Retried.Add(1)
	}
}

// waitForRetry waits between attempts and reports whether there may be another one. The
// first wait after the program has begun to end is skipped.
func (p *Poster) waitForRetry(ctx context.Context, wait time.Duration) bool {
	closing := p.Closing
	select {
	case <-closing:
		closing = nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closing:
	case <-ctx.Done():
		return false
	}
	return true
}

const maxAnswer = 64 << 10

func (p *Poster) attempt(ctx context.Context, url string, body []byte) attemptResult {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	at := new(custody)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// From here on bytes can have been sent: the outcome can be unknown.
		GotConn: func(httptrace.GotConnInfo) { at.hand() },
	})
	req, err := p.request(ctx, http.MethodPost, url)
	if err != nil {
		return attemptResult{outcome: Refused, fault: faultAt(url, err)}
	}
	p.lend(req, body, at)
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := p.HTTP.Do(req)
	if err != nil {
		if at.withdraw() {
			return attemptResult{outcome: Refused, retry: true, notSent: true, fault: faultAt(url, err)}
		}
		return attemptResult{outcome: Unknown, retry: true, fault: faultAt(url, err)}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // reads the rest, so that the connection can be reused
	resp.Body.Close()
	return readResponse(resp, hostOf(req.URL))
}

// readResponse returns the outcome of a response. 2xx is acceptance, even with a partial success: the
// collector will accept no more of it. Retryable statuses are refusals if the collector sends them
// (429, 503), and unknown if a proxy does (502, 504). Any other 5xx can follow after the work was done.
func readResponse(resp *http.Response, from string) attemptResult {
	code := resp.StatusCode
	a := attemptResult{fault: fmt.Errorf("%s answered %s", from, messagelog.Brief(resp.Status))}
	switch {
	case code >= 200 && code < 300:
		return attemptResult{outcome: Accepted}
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		a.outcome, a.retry = Refused, true
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		a.outcome, a.retry = Unknown, true
	case code >= 500:
		a.outcome = Unknown
	default:
		a.outcome = Refused
	}
	a.wait = retryAfter(resp.Header.Get("Retry-After"))
	return a
}

// longestWait is the longest pause that a server can ask for.
const longestWait = time.Hour

// retryAfter parses a Retry-After header: a number of seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int(longestWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), longestWait)
	}
	return 0
}
