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
	Agent   string // of every request
	Timeout time.Duration
	Headers Headers
	URLs    []string                // which serve the same, in order of preference
	until   [maxEndpoints]time.Time // skipped until then
}

// downFor is how long a collector that could not be reached is skipped.
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

// NewHTTP makes the HTTP client of the SDK from the program's, or one of its own:
// the program may have wrapped the default transport in a probe, which would then
// measure its own export.
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
