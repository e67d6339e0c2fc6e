//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// server is a program of the module proxy.
type server struct {
	module, pkg string
	// replaced are modules that its go.mod replaces by directories next to it, which the proxy does not have.
	replaced []string
	plant    plant
	// rate is the number of rounds a second for one process of each version.
	rate float64
	// args returns the arguments, and may write files into the directory of the process. ready and profile are URLs.
	args           func(p *process) ([]string, error)
	ready, profile func(p *process) string
	// connect returns the round of a client: a mix of requests that is the same for both versions.
	connect func(ctx context.Context, p *process) (client, error)
}

// plant is the function with additional work, chosen from the profile of an unchanged run.
type plant struct {
	class, method string
	file, before  string  // the work follows this text
	ns            float64 // own CPU time of a call
}

// A client sends rounds of requests, several at the same time. The n-th round is the same for each client.
type client interface {
	round(ctx context.Context, n int) error
	close()
}

var servers = map[string]server{"nats": nats, "etcd": etcd, "victoriametrics": victoria}

// httpClient sends requests to one process.
type httpClient struct {
	http.Client
	base string
}

func newHTTPClient(base string) *httpClient {
	return &httpClient{Client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}, base: base}
}

func (c *httpClient) send(ctx context.Context, method, path, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if method == http.MethodPost && strings.HasPrefix(path, "/api/v1/") && !strings.Contains(path, "import") {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return string(text), err
}

func (c *httpClient) close() { c.CloseIdleConnections() }
