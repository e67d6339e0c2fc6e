package bigquery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

const scope = "https://www.googleapis.com/auth/cloud-platform"

// credentialSource returns a function that finds the credentials at its first call: those given,
// else the application default credentials.
func credentialSource(given oauth2.TokenSource) func() (oauth2.TokenSource, error) {
	return sync.OnceValues(func() (oauth2.TokenSource, error) {
		if given != nil {
			return given, nil
		}
		patient := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: requestWithin})
		found, err := google.DefaultTokenSource(patient, scope)
		if err != nil {
			return nil, fmt.Errorf("no Google Cloud credentials: %w (set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the machine a service account)", err)
		}
		return found, nil
	})
}

// REST is a client of BigQuery's REST API, limited to the calls needed here.
type REST struct {
	endpoints Endpoints
	client    *http.Client
	// firstPause is the pause before the first retry.
	firstPause time.Duration
}

// NewREST creates the client. It does not connect.
func NewREST(endpoints Endpoints, credentials func() (oauth2.TokenSource, error)) (*REST, error) {
	r := &REST{endpoints: endpoints.withDefaults()}
	if err := CheckEndpoint(r.endpoints.API, DefaultAPI); err != nil {
		return nil, fmt.Errorf("the endpoint of BigQuery: %w", err)
	}
	if err := r.connect(r.endpoints.API, credentials); err != nil {
		return nil, err
	}
	return r, nil
}

// connect creates the HTTP client for an address. An http:// address gets no credentials.
func (r *REST) connect(address string, credentials func() (oauth2.TokenSource, error)) error {
	r.client, r.firstPause = &http.Client{Timeout: requestWithin}, 500*time.Millisecond
	if strings.HasPrefix(address, "http://") {
		r.firstPause = time.Millisecond
		return nil
	}
	source, err := credentials()
	if err != nil {
		return err
	}
	r.client.Transport = &oauth2.Transport{Source: source}
	return nil
}

// CheckEndpoint returns an error if address is not a valid address of a service. The error contains
// no credentials.
func CheckEndpoint(address, example string) error {
	u, err := url.Parse(address)
	if err == nil && u.User != nil {
		return fmt.Errorf("it must be without user and password, like %s; credentials come from the environment; found %q", example, redacted(address))
	}
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("it must be a URL like %s, found %q", example, redacted(address))
	}
	return nil
}

// redacted removes possible credentials from an address, even if it is not a valid URL.
func redacted(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		address = "..." + address[i:]
	}
	address, _, _ = strings.Cut(address, "?")
	return address
}

// Failure is an error answer of a service.
type Failure struct {
	Status  int
	Reason  string
	Message string
}

func (f *Failure) Error() string {
	if f.Reason == "" {
		return fmt.Sprintf("%s (HTTP %d)", f.Message, f.Status)
	}
	return fmt.Sprintf("%s (%s, HTTP %d)", f.Message, f.Reason, f.Status)
}

// HasStatus reports whether err is an answer with this HTTP status.
func HasStatus(err error, code int) bool {
	var f *Failure
	return errors.As(err, &f) && f.Status == code
}

// restAttempts is how often a request is sent while the service or the network fails. Repeating a
// request is safe: if a lost answer hid its success, the repeat is answered with a conflict, a
// failed condition or not found, which the callers handle.
const restAttempts = 4

// requestWithin bounds one attempt, including its answer.
const requestWithin = time.Minute

// Temporary errors by their reason, whatever their HTTP status
// (https://docs.cloud.google.com/bigquery/docs/error-messages). A request is repeated; a job is
// started again with another id.
var (
	temporaryReasons    = []string{"backendError", "internalError", "rateLimitExceeded"}
	temporaryJobReasons = []string{"jobBackendError", "jobInternalError", "jobRateLimitExceeded"}
)

// maxAnswer bounds the size of an answer in bytes: a page of results has at most 20 MB.
const maxAnswer = 64 << 20

// call is one request.
type call struct {
	method, url string
	body        any // []byte is sent unchanged, other types as JSON
	header      map[string]string
}

// do sends a request, with retries, and decodes the answer into into.
func (r *REST) do(ctx context.Context, c call, into any) error {
	return r.retry(ctx,
		func() error { return r.sendOnce(ctx, c, into) },
		func(err error) bool { return isTemporary(ctx, err) })
}

// retry calls try until it succeeds, its error does not satisfy passes, or restAttempts is reached.
func (r *REST) retry(ctx context.Context, try func() error, passes func(error) bool) error {
	var err error
	for n := range restAttempts {
		if n > 0 && !pause(ctx, r.firstPause<<n) {
			return errors.Join(ctx.Err(), err)
		}
		if err = try(); err == nil || !passes(err) {
			return err
		}
	}
	return err
}

func isTemporary(ctx context.Context, err error) bool {
	var f *Failure
	if !errors.As(err, &f) {
		return ctx.Err() == nil
	}
	return f.Status == http.StatusTooManyRequests || f.Status >= 500 || slices.Contains(temporaryReasons, f.Reason)
}

// jobIsTemporary reports whether a failed job may succeed if it is started again.
func jobIsTemporary(err error) bool {
	var f *Failure
	return errors.As(err, &f) && slices.Contains(temporaryJobReasons, f.Reason)
}

func (r *REST) sendOnce(ctx context.Context, c call, into any) error {
	var body io.Reader
	contentType := ""
	switch b := c.body.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return err
		}
		body, contentType = bytes.NewReader(data), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, c.method, c.url, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return newFailure(resp.StatusCode, data)
	}
	if into == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, into)
}

func newFailure(code int, data []byte) *Failure {
	var body struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	f := &Failure{Status: code, Message: http.StatusText(code)}
	if json.Unmarshal(data, &body) == nil && body.Error.Message != "" {
		f.Message = body.Error.Message
		if len(body.Error.Errors) > 0 {
			f.Reason = body.Error.Errors[0].Reason
		}
	}
	return f
}

// projectURL returns the URL of a resource in a project.
func (r *REST) projectURL(project string, parts ...string) string {
	path := r.endpoints.API + "/bigquery/v2/projects/" + url.PathEscape(project)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}
