package corehour

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"

	"github.com/corehour/corehour/sdk/internal/messagelog"
)

// poster sends requests by OTLP/HTTP and determines their outcome.
type poster struct {
	client    *http.Client
	endpoints *endpointList
	fault     error // of the last request; owned by the sender
	packer
}

// retryPolicy bounds how long one request is tried.
type retryPolicy struct {
	first, most, total time.Duration
}

var defaultRetry = retryPolicy{first: 500 * time.Millisecond, most: 10 * time.Second, total: time.Minute}

func newPoster(c *config, client *http.Client) *poster {
	return &poster{client: client, endpoints: newEndpointList(c.collectors), packer: newPacker(c.gzip)}
}

// newClient makes the HTTP client of the SDK from the program's, or one of its own:
// the program may have wrapped the default transport in a probe, which would then
// measure its own export.
func newClient(given *http.Client, secure *tls.Config) *http.Client {
	client := &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     secure,
	}}
	if given != nil {
		*client = *given
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = unredirected{client.Transport}
	return client
}

// unredirected keeps a client from following redirects, by hiding where they lead: one
// that leads to no URL is an error to a client that sees it, and no answer.
type unredirected struct{ http.RoundTripper }

func (u unredirected) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := u.RoundTripper.RoundTrip(r)
	if err == nil && resp != nil && resp.StatusCode/100 == 3 {
		resp.Header = resp.Header.Clone()
		resp.Header.Del("Location")
	}
	return resp, err
}

// CloseIdleConnections closes those of the wrapped transport.
func (u unredirected) CloseIdleConnections() {
	if c, ok := u.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (p *poster) lastFault() error { return p.fault }

// attemptResult is the result of one attempt.
type attemptResult struct {
	outcome requestOutcome
	retry   bool          // worth another attempt
	notSent bool          // there was not even a connection
	wait    time.Duration // as the server asks
	fault   error
}

// deliver sends a request, and retries it with the same number where that may help. One
// attempt of unknown outcome makes the whole unknown unless a later one is accepted. The
// collector deduplicates retries by the number, so from then on they go to that collector
// only. As long as nothing was sent, the next collector may get the request.
func (p *poster) deliver(e *engine, r *request) requestOutcome {
	body := p.pack(e, r)
	result := refused
	start := time.Now()
	pause := e.retry.first
	at := p.endpoints.best()
	for {
		a := p.attempt(e, p.endpoints.urls[at], body)
		p.fault = a.fault
		if a.outcome == accepted {
			return accepted
		}
		if a.outcome == unknown {
			result = unknown
		}
		wait := time.Duration(float64(pause) * (0.5 + rand.Float64()))
		left := e.retry.total - time.Since(start)
		over := wait > left
		wait = max(wait, min(a.wait, left)) // as long as the server asks, while there is time
		if a.notSent && result == refused {
			p.endpoints.markDown(at)
			if next := p.endpoints.best(); next != at {
				at, wait = next, 0
			}
		}
		pause = min(2*pause, e.retry.most)
		if !a.retry || over || !e.waitForRetry(wait) {
			return result
		}
		e.counters.retried.Add(1)
	}
}

// waitForRetry waits between attempts and reports whether there may be another one. The
// first wait after the engine has begun to stop is skipped.
func (e *engine) waitForRetry(wait time.Duration) bool {
	stopping := e.stopping
	select {
	case <-stopping:
		stopping = nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stopping:
	case <-e.deadline.Done():
		return false
	}
	return true
}

const maxAnswer = 64 << 10

func (p *poster) attempt(e *engine, url string, body []byte) attemptResult {
	ctx, cancel := context.WithTimeout(e.deadline, e.timeout)
	defer cancel()
	at := new(custody)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// From here on bytes may be on their way: the outcome can be unknown.
		GotConn: func(httptrace.GotConnInfo) { at.hand() },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return attemptResult{outcome: refused, fault: faultAt(url, err)}
	}
	p.lend(req, body, at)
	for key, value := range e.headers {
		req.Header.Set(key, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "corehour-go/"+Version)
	resp, err := p.client.Do(req)
	if err != nil {
		if at.withdraw() {
			return attemptResult{outcome: refused, retry: true, notSent: true, fault: faultAt(url, err)}
		}
		return attemptResult{outcome: unknown, retry: true, fault: faultAt(url, err)}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // what it says is not needed
	resp.Body.Close()
	return readResponse(resp, hostOf(req.URL))
}

// readResponse returns the outcome that a response means. 2xx is acceptance, even with a
// partial success inside: the collector has taken what it will ever take. Retryable
// statuses are refusals if the collector itself sends them (429, 503) and unknown if a
// proxy does (502, 504). Any other 5xx may have come after the work was done.
func readResponse(resp *http.Response, from string) attemptResult {
	code := resp.StatusCode
	a := attemptResult{fault: fmt.Errorf("%s answered %s", from, messagelog.Brief(resp.Status))}
	switch {
	case code >= 200 && code < 300:
		return attemptResult{outcome: accepted}
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		a.outcome, a.retry = refused, true
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		a.outcome, a.retry = unknown, true
	case code >= 500:
		a.outcome = unknown
	default:
		a.outcome = refused
	}
	a.wait = retryAfter(resp.Header.Get("Retry-After"))
	return a
}

// longestWait is as much as a server may ask for.
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
