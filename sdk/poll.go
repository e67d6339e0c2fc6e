package corehour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/corehour/corehour/sdk/internal/messagelog"
)

const (
	// pollWait is how long a collector may hold a poll until rates change.
	pollWait  = 25 * time.Second
	pollPause = time.Second // between polls at least, should it answer at once
	pollMost  = time.Minute // between polls at most, while it fails
	maxRates  = 16 << 20    // bytes of an answer
)

// poll polls a collector for rates and passes every answer to the control loop.
func (e *engine) poll() {
	var known *rateTable
	etag, asked := "", -1
	pause := pollPause
	for {
		began := time.Now()
		at := e.rateEndpoints.best()
		if at != asked {
			etag, asked = "", at // another collector, another revision
		}
		table, tag, err := e.askRates(e.rateEndpoints.urls[at], etag)
		var later notYet
		switch {
		case e.polling.Err() != nil:
			return
		case errors.As(err, &later):
			if !e.waitForPoll(later.after) {
				return
			}
		case err != nil:
			messages.LogKindf("no rates", "%v", faultAt(e.rateEndpoints.urls[at], err))
			e.rateEndpoints.markDown(at)
			pause = min(2*pause, pollMost)
		default:
			pause = pollPause
			if table != nil {
				known, etag = table, tag
			}
			select {
			case e.servedRates <- known:
			case <-e.polling.Done():
				return
			}
		}
		jittered := time.Duration(float64(pause) * (0.75 + rand.Float64()/2))
		if !e.waitForPoll(jittered - time.Since(began)) {
			return
		}
	}
}

// notYet is the answer of a collector that knows nothing of this service so far, or
// holds as many polls as it may: it says when to poll again.
type notYet struct{ after time.Duration }

func (n notYet) Error() string { return fmt.Sprintf("to be polled again in %s", n.after) }

// waitForPoll waits, and reports whether there is a next poll.
func (e *engine) waitForPoll(wait time.Duration) bool {
	timer := time.NewTimer(max(0, wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.polling.Done():
		return false
	}
}

// askRates returns the rates, or nil if they are still those of etag.
func (e *engine) askRates(base, etag string) (*rateTable, string, error) {
	ctx, cancel := context.WithTimeout(e.polling, pollWait+e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	if err != nil {
		return nil, "", err
	}
	if req.URL.RawQuery != "" {
		req.URL.RawQuery += "&"
	}
	req.URL.RawQuery += e.rateQuery
	for key, value := range e.askHeaders {
		req.Header.Set(key, value)
	}
	req.Header.Set("User-Agent", "corehour-go/"+Version)
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRates+1))
	switch {
	case err != nil:
		return nil, "", err
	case resp.StatusCode == http.StatusNotModified && etag != "":
		return nil, etag, nil
	case resp.StatusCode == http.StatusServiceUnavailable && retryAfter(resp.Header.Get("Retry-After")) > 0:
		return nil, "", notYet{min(retryAfter(resp.Header.Get("Retry-After")), pollMost)}
	case resp.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("answered %s", messagelog.Brief(resp.Status))
	case len(data) > maxRates:
		return nil, "", fmt.Errorf("answered with more than %d bytes", maxRates)
	}
	table, err := parseRates(data)
	if err != nil {
		return nil, "", err
	}
	if table.faults > 0 {
		messages.LogKindf("rates", "%d entries of %s make no sense and are left out", table.faults, hostOf(req.URL))
	}
	return table, resp.Header.Get("ETag"), nil
}

// rateQuery returns the query that names the process whose rates are polled.
func rateQuery(attributes map[string]string) string {
	q := url.Values{"wait": {pollWait.String()}}
	for name, key := range map[string]string{
		"namespace": "service.namespace", "service": "service.name", "environment": "deployment.environment.name",
		"version": "service.version", "instance": "service.instance.id",
	} {
		q.Set(name, attributes[key])
	}
	return q.Encode()
}
