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
	// attemptTimeout is how long one attempt may take, the answer included.
	attemptTimeout = 10 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 4 << 10
)

// post posts a JSON body once. id names what is posted, for receivers that drop
// repeats by it.
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
	// The status decides; what of the body can't be read only makes the message
	// shorter.
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return e.refusal(resp, answer)
}

// transportFailure is an attempt without an answer. All are worth repeating but
// those in which the other side is not who it should be.
func (e *Endpoint) transportFailure(err error) *Failure {
	var outer *url.Error
	if errors.As(err, &outer) { // its text has the URL
		err = outer.Err
	}
	var untrusted *tls.CertificateVerificationError
	f := &Failure{Reason: e.clean(err.Error()), Retry: !errors.As(err, &untrusted)}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Reason = "no answer in time"
	}
	return f
}

// refusal is an answer other than yes.
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

// retryable tells answers that the same request may not get again: too many
// requests, too slow, and faults of the server, but not what it will never do.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status/100 == 5
}

// retryAfter reads the header of that name: seconds or a date (RFC 9110, 10.2.3).
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

// clean takes out secrets that the other side repeats, the longest first.
func (e *Endpoint) clean(s string) string {
	secrets := slices.Clone(e.secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "[secret]")
		s = strings.ReplaceAll(s, url.QueryEscape(secret), "[secret]")
	}
	return s
}
