package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/query"
)

const (
	collectorTimeout = 10 * time.Second
	maxExplanations  = 16 << 20 // bytes of a response
	maxErrorText     = 300      // bytes of an unexpected response that an error quotes
)

// Explanations is the response of /v1/explain.
type Explanations struct {
	Explanations []rates.Explanation `json:"explanations"`
	More         int                 `json:"more,omitempty"`
}

// Collector is the address of a running collector and the method to ask it about.
type Collector struct {
	URL    string
	Target rates.Target
	Method string
}

// Address returns the URL of the request.
func (c *Collector) Address() (*url.URL, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("--collector: want a URL like http://localhost:4319") // the value may contain a secret
	}
	u := base.JoinPath("v1", "explain")
	q := url.Values{"service": {c.Target.Service}, "method": {c.Method}}
	for name, value := range map[string]string{
		"namespace": c.Target.Namespace, "environment": c.Target.Environment, "version": c.Target.Version,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u, nil
}

// Ask queries the collector. It fails with query.ErrNoData if the sampler has no data about the method. Errors
// name the extension that has to run, where a wrong address can be the cause.
func (c *Collector) Ask(ctx context.Context) (*Explanations, error) {
	u, err := c.Address()
	if err != nil {
		return nil, err
	}
	at := u.Scheme + "://" + u.Host
	ctx, cancel := context.WithTimeout(ctx, collectorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("--collector: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // leaves out the query string
		}
		return nil, fmt.Errorf("--collector: %s cannot be reached: %w: does the collector run, with the extension sampling_rates?", at, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxExplanations+1))
	if err != nil {
		return nil, fmt.Errorf("--collector: reading the answer of %s: %w", at, err)
	}
	answer, err := readExplanations(at, response, data)
	if err == nil && len(answer.Explanations) == 0 {
		err = fmt.Errorf("%w: the sampler has no data of %s of %s", query.ErrNoData, c.Method, c.Target.Service)
	}
	return answer, err
}

func readExplanations(at string, response *http.Response, data []byte) (*Explanations, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("--collector: %s has no /v1/explain: want the address of the extension sampling_rates "+
			"(port 4319 by default) of a collector of this version", at)
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("--collector: %s answered %s: it wants credentials, which this command does not send; "+
			"ask where none are needed, as by a forwarded port", at, response.Status)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("--collector: %s answered %s: %s", at, response.Status, errorText(data))
	case len(data) > maxExplanations:
		return nil, fmt.Errorf("--collector: %s answered with more than %d bytes", at, maxExplanations)
	}
	var answer Explanations
	if err := json.Unmarshal(data, &answer); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("--collector: %s answered something else than an explanation: want the address of the extension "+
			"sampling_rates, port 4319 by default", at)
	}
	return &answer, nil
}

// errorText returns the first line of a response that is not an explanation, cut at maxErrorText bytes.
func errorText(data []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if len(line) > maxErrorText {
		line = strings.ToValidUTF8(line[:maxErrorText], "") + "..."
	}
	return line
}
