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

// sourceOf finds credentials when they are first needed: those given, else the
// application default credentials of the environment.
func sourceOf(given oauth2.TokenSource) func() (oauth2.TokenSource, error) {
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

// REST is a client of the REST interface of BigQuery, as far as it is needed
// here.
type REST struct {
	endpoints Endpoints
	client    *http.Client
	// firstPause is that before the first repetition of a request.
	firstPause time.Duration
}

// NewREST prepares the client; it does not connect.
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

// connect makes the client for an address.
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

// CheckEndpoint says what is wrong with the address of a service, without the
// credentials that may be in it.
func CheckEndpoint(address, example string) error {
	u, err := url.Parse(address)
	if err == nil && u.User != nil {
		return fmt.Errorf("it must be without user and password, as %s; credentials are those of the environment; found %q", example, redacted(address))
	}
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("it must be a URL as %s, found %q", example, redacted(address))
	}
	return nil
}

// redacted leaves out what may be credentials, also of what is no URL.
func redacted(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		address = "..." + address[i:]
	}
	address, _, _ = strings.Cut(address, "?")
	return address
}

// Failure is an error that a service answered with.
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

// HasStatus reports whether an error is an answer with this HTTP status.
func HasStatus(err error, code int) bool {
	var f *Failure
	return errors.As(err, &f) && f.Status == code
}

// restAttempts is how often a request is sent when the service is not able to
// answer or the network fails. Nothing here is done twice by that: what was done by an
// attempt whose answer was lost is answered with a conflict, a failed condition or not
// found, which whoever asks understands.
const restAttempts = 4

// requestWithin bounds one attempt, its answer included.
const requestWithin = time.Minute

// Reasons of the service's table of errors
// (https://docs.cloud.google.com/bigquery/docs/error-messages) that pass, whatever the
// HTTP status: of a request, which is repeated, and of a job, which is started again
// with another id.
var (
	passing      = []string{"backendError", "internalError", "rateLimitExceeded"}
	passingOfJob = []string{"jobBackendError", "jobInternalError", "jobRateLimitExceeded"}
)

// maxAnswer bounds the answers that are read: a page of results has 20 MB at most.
const maxAnswer = 64 << 20

// call is one request.
type call struct {
	method, url string
	body        any // as JSON, or []byte as it is
	header      map[string]string
}

// do sends a request, several times if need be, and decodes the answer.
func (r *REST) do(ctx context.Context, c call, into any) error {
	return r.retry(ctx,
		func() error { return r.once(ctx, c, into) },
		func(err error) bool { return temporary(ctx, err) })
}

// retry tries several times if need be, as long as the errors pass.
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

func temporary(ctx context.Context, err error) bool {
	var f *Failure
	if !errors.As(err, &f) {
		return ctx.Err() == nil
	}
	return f.Status == http.StatusTooManyRequests || f.Status >= 500 || slices.Contains(passing, f.Reason)
}

// jobPasses reports whether a job has failed that may succeed if it is started again.
func jobPasses(err error) bool {
	var f *Failure
	return errors.As(err, &f) && slices.Contains(passingOfJob, f.Reason)
}

func (r *REST) once(ctx context.Context, c call, into any) error {
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
		return failureOf(resp.StatusCode, data)
	}
	if into == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, into)
}

func failureOf(code int, data []byte) *Failure {
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

// of is the address of something in a project.
func (r *REST) of(project string, parts ...string) string {
	path := r.endpoints.API + "/bigquery/v2/projects/" + url.PathEscape(project)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}
