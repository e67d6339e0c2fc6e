package export

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/corehour/corehour/sdk/internal/messagelog"
)

const (
	// pollWait is the longest time for which a collector can hold a poll until rates change.
	pollWait  = 25 * time.Second
	pollPause = time.Second // least time between polls, if the collector answers at once
	pollMost  = time.Minute // longest time between polls, while they fail
	maxRates  = 16 << 20    // bytes of an answer
)

// Poller polls for rates.
type Poller struct {
	Client
	Query string
	etag  string // ETag of the last answer
}

// Poll polls until the context ends. It calls read with every new answer and the server's name, then
// served. It also calls served when rates are unchanged, and failed with every error.
func (p *Poller) Poll(ctx context.Context, read func(answer []byte, host string) error, served func(), failed func(error)) {
	asked := -1
	pause := pollPause
	for {
		began := time.Now()
		at := p.best()
		if at != asked {
			p.etag, asked = "", at // another collector, another revision
		}
		later, err := p.ask(ctx, p.URLs[at], read)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed(faultAt(p.URLs[at], err))
			p.markDown(at)
			pause = min(2*pause, pollMost)
		case later == 0:
			pause = pollPause
			served()
		}
		jittered := time.Duration(float64(pause) * (0.75 + rand.Float64()/2))
		select {
		case <-time.After(max(later, jittered-time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

// ask polls once. A collector that does not know the service yet, or that holds its maximum of polls,
// returns the additional time until the next poll.
func (p *Poller) ask(ctx context.Context, url string, read func([]byte, string) error) (later time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollWait+p.Timeout)
	defer cancel()
	req, err := p.request(ctx, http.MethodGet, url)
	if err != nil {
		return 0, err
	}
	if req.URL.RawQuery != "" {
		req.URL.RawQuery += "&"
	}
	req.URL.RawQuery += p.Query
	if p.etag != "" {
		req.Header.Set("If-None-Match", p.etag)
	}
	resp, err := p.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRates+1))
	later = min(retryAfter(resp.Header.Get("Retry-After")), pollMost)
	switch {
	case err != nil:
		return 0, err
	case resp.StatusCode == http.StatusNotModified && p.etag != "":
		return 0, nil
	case resp.StatusCode == http.StatusServiceUnavailable && later > 0:
		return later, nil
	case resp.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("answered %s", messagelog.Brief(resp.Status))
	case len(data) > maxRates:
		return 0, fmt.Errorf("answered with more than %d bytes", maxRates)
	}
	if err = read(data, hostOf(req.URL)); err == nil {
		p.etag = resp.Header.Get("ETag")
	}
	return 0, err
}

// RateQuery returns the query that names the process whose rates are polled.
func RateQuery(attributes map[string]string) string {
	q := url.Values{"wait": {pollWait.String()}}
	for name, key := range map[string]string{
		"namespace": "service.namespace", "service": "service.name", "environment": "deployment.environment.name",
		"version": "service.version", "instance": "service.instance.id",
	} {
		q.Set(name, attributes[key])
	}
	return q.Encode()
}
