package sink

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/configfile"
)

const (
	// attemptTimeout is the timeout of one attempt, including the response.
	attemptTimeout = 10 * time.Second
	// maxAnswer is the maximum number of bytes read from a response.
	maxAnswer = 4 << 10
)

// post makes one POST request with a JSON body. id identifies the message for receivers that drop duplicates.
func (e *Endpoint) post(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return permanent("the request can't be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "corehour")
	if id != "" {
		req.Header.Set("Idempotency-Key", id)
	}
	for name, values := range e.headers {
		req.Header[name] = values
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return e.transportFailure(err)
	}
	defer resp.Body.Close()
	// Only the status decides. A body that cannot be read only shortens the error text.
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return e.refusal(resp, answer)
}

// transportFailure returns the failure of an attempt without a response. All are retried except a failed
// verification of the server's identity.
func (e *Endpoint) transportFailure(err error) *Failure {
	var outer *url.Error
	if errors.As(err, &outer) { // its text contains the URL
		err = outer.Err
	}
	var untrusted *tls.CertificateVerificationError
	f := &Failure{Reason: e.clean(err.Error()), Retry: !errors.As(err, &untrusted)}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Reason = "no answer in time"
	}
	return f
}

// refusal returns the failure for a response with a status that is not a success.
func (e *Endpoint) refusal(resp *http.Response, answer []byte) *Failure {
	f := permanent("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if said := strings.TrimSpace(e.clean(string(answer))); said != "" {
		f.Reason += ": " + configfile.Quote(said)
	}
	if resp.StatusCode/100 == 3 {
		f.Reason += ": it redirects, which is not followed: give the address it redirects to"
	}
	f.Retry = retryable(resp.StatusCode)
	if f.Retry {
		f.After = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	return f
}

// retryable reports whether a repeated request can succeed after this status: too many requests, timeouts, and
// server errors, except permanent ones.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status/100 == 5
}

// retryAfter parses the Retry-After header: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(s string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
		return min(most, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(most, max(0, at.Sub(now)))
	}
	return 0
}

// clean removes secrets that the server repeats, the longest first.
func (e *Endpoint) clean(s string) string {
	secrets := slices.Clone(e.secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "[secret]")
		s = strings.ReplaceAll(s, url.QueryEscape(secret), "[secret]")
	}
	return s
}
