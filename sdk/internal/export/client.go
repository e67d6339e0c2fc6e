package export

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"
)

// Client sends requests to the first of several URLs that is not known to be down. It belongs to
// one goroutine.
type Client struct {
	HTTP    *http.Client
	Agent   string // User-Agent of every request
	Timeout time.Duration
	Headers Headers
	URLs    []string                // equivalent collectors, in order of preference
	until   [maxEndpoints]time.Time // skipped until then
}

// downFor is the time for which an unreachable collector is skipped.
const downFor = 30 * time.Second

// best returns the first URL not known to be down; if all are, the preferred one.
func (c *Client) best() int {
	now := time.Now()
	for i := range c.URLs {
		if !now.Before(c.until[i]) {
			return i
		}
	}
	return 0
}

func (c *Client) markDown(i int) { c.until[i] = time.Now().Add(downFor) }

// request returns a request with the headers.
func (c *Client) request(ctx context.Context, method, url string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	for key, value := range c.Headers {
		req.Header.Set(key, value)
	}
	req.Header.Set("User-Agent", c.Agent)
	return req, nil
}

// NewHTTP returns the HTTP client of the SDK, based on the program's client or a new one. The default
// transport is not used: the program may have wrapped it in a probe, which would then measure the
// SDK's own export.
func NewHTTP(given *http.Client, secure *tls.Config) *http.Client {
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

// unredirected prevents redirects by hiding their target. A client that sees a target that is not a
// URL returns an error instead of the response.
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
