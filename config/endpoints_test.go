package config

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// caller is a client of a collector, over TLS.
type caller struct {
	service       string
	tls           *tls.Config
	authorization string // a header, none if empty
}

// answerError is an HTTP answer other than 200.
type answerError struct {
	code int
	text string
}

func (e *answerError) Error() string { return fmt.Sprintf("answered %d: %s", e.code, e.text) }

// endpoints are the network ports of a collector, with a request to each. OTLP requests store a call of the
// caller's service.
var endpoints = []struct {
	name string
	grpc bool
	ask  func(context.Context, *collector, caller) error
}{
	{"OTLP over HTTP", false, func(ctx context.Context, to *collector, by caller) error {
		return by.http(ctx, http.MethodPost, "https://"+to.http+"/v1/traces", callOf(by.service, "test.f"))
	}},
	{"OTLP over gRPC", true, func(ctx context.Context, to *collector, by caller) error {
		request := ptraceotlp.NewExportRequest()
		if err := request.UnmarshalJSON([]byte(callOf(by.service, "test.f"))); err != nil {
			return err
		}
		return by.grpc(ctx, to.grpc, func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, request)
			return err
		})
	}},
	{"rates over HTTP", false, func(ctx context.Context, to *collector, by caller) error {
		return by.http(ctx, http.MethodGet, "https://"+to.rates+"/sampling?service="+by.service, "")
	}},
	{"rates over gRPC", true, func(ctx context.Context, to *collector, by caller) error {
		return by.grpc(ctx, to.jaeger, func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := api_v2.NewSamplingManagerClient(conn).GetSamplingStrategy(ctx, &api_v2.SamplingStrategyParameters{ServiceName: by.service})
			return err
		})
	}},
}

const patience = 10 * time.Second

func (c caller) http(ctx context.Context, method, url, body string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.authorization != "" {
		request.Header.Set("Authorization", c.authorization)
	}
	transport := &http.Transport{TLSClientConfig: c.tls.Clone()}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = &answerError{response.StatusCode, string(text)}
	}
	return err
}

func (c caller) grpc(ctx context.Context, address string, ask func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(c.tls.Clone())))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if c.authorization != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", c.authorization)
	}
	return ask(ctx, conn)
}
