package samplingrates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/rates"
)

// jaegerClient is a real gRPC client of the rig's server.
func (r *rig) jaegerClient(with credentials.TransportCredentials) (api_v2.SamplingManagerClient, *grpc.ClientConn) {
	r.t.Helper()
	conn, err := grpc.NewClient(r.server.grpc.address.String(), grpc.WithTransportCredentials(with))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, conn.Close()) })
	return api_v2.NewSamplingManagerClient(conn), conn
}

func askJaeger(t *testing.T, client api_v2.SamplingManagerClient, service string, headers ...string) (*api_v2.SamplingStrategyResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), headers...), patience)
	defer cancel()
	return client.GetSamplingStrategy(ctx, &api_v2.SamplingStrategyParameters{ServiceName: service})
}

// awaitCounted waits for counts: the server counts a call after its client has the answer.
func (r *rig) awaitCounted(want map[string]int64) {
	r.t.Helper()
	require.EventuallyWithT(r.t, func(c *assert.CollectT) { assert.Equal(c, want, r.counted("requests")) }, patience, time.Millisecond)
}

// Answers over gRPC equal those over HTTP, and served rates are remembered alike.
func TestGRPC_Jaeger(t *testing.T) {
	r := start(t, testConfig(nil))
	client, _ := r.jaegerClient(insecure.NewCredentials())
	many := &rates.Table{Revision: "many", Default: rates.Rate{P: p(0.5)}}
	for i := range maxOperations + 10 {
		many.Operations = append(many.Operations, rates.Operation{Name: fmt.Sprint("GET /", i), P: 1 / float64(i+1)})
	}
	for service, table := range map[string]*rates.Table{
		"web":   operations(rates.Operation{Name: "GET /", P: 0.01}, rates.Operation{Name: `"<x>`, P: 1}),
		"off":   {Revision: "off", Default: rates.Rate{Mode: "off"}},
		"plain": {Revision: "plain", Default: rates.Rate{P: p(0.125)}},
		"many":  many,
	} {
		r.source.set(service, table)
		got, err := askJaeger(t, client, service)
		require.NoError(t, err)
		var response strategyResponse
		require.NoError(t, json.Unmarshal([]byte(r.get("/sampling?service="+service).body), &response))
		assert.Equal(t, response.StrategyType, got.StrategyType.String())
		assert.Equal(t, response.Probabilistic.SamplingRate, got.ProbabilisticSampling.SamplingRate)
		assert.Nil(t, got.RateLimitingSampling)
		assert.Equal(t, response.Operation.Default, got.OperationSampling.DefaultSamplingProbability)
		assert.Zero(t, got.OperationSampling.DefaultLowerBoundTracesPerSecond)
		require.Len(t, got.OperationSampling.PerOperationStrategies, len(response.Operation.PerOperation))
		for i, o := range response.Operation.PerOperation {
			assert.Equal(t, o.Operation, got.OperationSampling.PerOperationStrategies[i].Operation)
			assert.Equal(t, o.Probabilistic.SamplingRate, got.OperationSampling.PerOperationStrategies[i].ProbabilisticSampling.SamplingRate)
		}
	}
	r.awaitCounted(map[string]int64{"sampling ok": 8})
	assert.EqualValues(t, 4, r.counted("table_size")["answers"], "one for both protocols")

	r.source.set("remembered", operations(rates.Operation{Name: "GET /", P: 0.25}))
	began := time.Now()
	_, err := askJaeger(t, client, "remembered")
	require.NoError(t, err)
	_, ok := r.server.ServedRate(rates.Target{Service: "remembered"}, "GET /", began.Add(-time.Second))
	assert.False(t, ok)
	got, ok := r.server.ServedRate(rates.Target{Service: "remembered"}, "GET /", time.Now())
	assert.True(t, ok)
	assert.Equal(t, 0.25, got)
}

// Every attempt is counted, including those that no handler sees.
func TestGRPC_Attempts(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", tableOf("7", 0.25))
	client, conn := r.jaegerClient(insecure.NewCredentials())
	for _, c := range []struct {
		service, message, counted string
		code                      codes.Code
	}{
		{service: "shop", counted: "sampling ok"},
		{service: "", code: codes.InvalidArgument, message: "`serviceName` must be given, found nothing", counted: "sampling bad_request"},
		{service: strings.Repeat("x", maxParameter), code: codes.Unavailable, message: "no rates are published", counted: "sampling unavailable"},
		{service: strings.Repeat("x", maxParameter+1), code: codes.InvalidArgument, message: "`serviceName` must have at most 4096 bytes, found 4097", counted: "sampling bad_request"},
		{service: strings.Repeat("x", maxQuery), code: codes.ResourceExhausted, counted: "sampling bad_request"},
		{service: "a\xff", code: codes.InvalidArgument, message: "`serviceName` must be UTF-8", counted: "sampling bad_request"},
		{service: "new", code: codes.Unavailable, message: "no rates are published", counted: "sampling unavailable"},
	} {
		before := r.counted("requests")
		_, err := askJaeger(t, client, c.service)
		assert.Equal(t, c.code, status.Code(err), "%v", err)
		assert.Contains(t, fmt.Sprint(err), c.message)
		before[c.counted]++
		r.awaitCounted(before)
	}
	before := r.counted("requests")
	err := conn.Invoke(t.Context(), "/jaeger.api_v3.QueryService/GetTrace", &api_v2.SamplingStrategyParameters{}, &api_v2.SamplingStrategyResponse{})
	assert.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)
	before["other refused"]++
	r.awaitCounted(before)
	assert.Positive(t, r.counted("bytes")["sampling"])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.GetSamplingStrategy(ctx, &api_v2.SamplingStrategyParameters{ServiceName: "shop"})
	assert.Equal(t, codes.Canceled, status.Code(err))
}

// Many clients get one message at a time, and nobody changes it: the race detector checks that.
func TestGRPC_ManyClients(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", operations(rates.Operation{Name: "a", P: 0.5}, rates.Operation{Name: "b", P: 0.25}))
	client, _ := r.jaegerClient(insecure.NewCredentials())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				got, err := askJaeger(t, client, "shop")
				if assert.NoError(t, err) {
					assert.Len(t, got.OperationSampling.PerOperationStrategies, 2)
				}
			}
		})
	}
	all.Wait()
	r.awaitCounted(map[string]int64{"sampling ok": 400})
}

// It listens only where the configuration names it.
func TestGRPC_Disabled(t *testing.T) {
	for text, want := range map[string]string{"{}": "", "{grpc: }": "localhost:14250", "{grpc: {endpoint: 'localhost:0'}}": "localhost:0"} {
		config, err := load(t, text)
		require.NoError(t, err)
		assert.Equal(t, want != "", config.GRPC.HasValue(), text)
		if want != "" {
			assert.Equal(t, want, config.GRPC.Get().NetAddr.Endpoint)
		}
	}
	config, err := load(t, "{endpoint: 'localhost:0'}")
	require.NoError(t, err)
	r := start(t, config)
	assert.Nil(t, r.server.grpc.address)
}

// An address in use stops both servers, and the error names the key.
func TestGRPC_AddressInUse(t *testing.T) {
	r := start(t, testConfig(nil))
	second := newRig(t, testConfig(func(c *Config) { c.GRPC.Get().NetAddr.Endpoint = r.server.grpc.address.String() }))
	assert.ErrorContains(t, second.server.Start(t.Context(), componenttest.NewNopHost()), "`grpc::endpoint` \""+r.server.grpc.address.String())
	require.NoError(t, second.server.Shutdown(t.Context()))
}

// The default address is a well-known one that another program can have. The HTTP server starts all the same.
func TestGRPC_DefaultAddressInUse(t *testing.T) {
	if other, err := net.Listen("tcp", defaultGRPC); err == nil {
		t.Cleanup(func() { assert.NoError(t, other.Close()) })
	}
	r := start(t, testConfig(func(c *Config) { c.GRPC.Get().NetAddr.Endpoint = defaultGRPC }))
	r.source.set("shop", tableOf("7", 0.25))
	assert.Nil(t, r.server.grpc.address)
	assert.Equal(t, 200, r.get("/sampling?service=shop").status)
}

// The authenticator of the HTTP server decides here, too, and without it nothing starts.
func TestGRPC_Authentication(t *testing.T) {
	config, err := load(t, "{endpoint: 'localhost:0', grpc: {endpoint: 'localhost:0'}, auth: {authenticator: gate}}")
	require.NoError(t, err)
	r := newRig(t, config)
	r.source.set("shop", tableOf("1", 0.5))
	gate := component.MustNewID("gate")
	require.NoError(t, r.server.Start(t.Context(), host{componenttest.NewNopHost(), map[component.ID]component.Component{gate: porter{}}}))
	t.Cleanup(func() { require.NoError(t, r.server.Shutdown(context.Background())) })
	client, _ := r.jaegerClient(insecure.NewCredentials())
	_, err = askJaeger(t, client, "shop")
	assert.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	_, err = askJaeger(t, client, "shop", "authorization", "sesame")
	assert.NoError(t, err)
	r.awaitCounted(map[string]int64{"sampling ok": 1, "sampling refused": 1})
}

// porter is a doorman whose keys are those of gRPC's metadata: in lower case.
type porter struct{ component.Component }

func (porter) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	return doorman{}.Authenticate(ctx, map[string][]string{"Authorization": sources["authorization"]})
}

// TLS and client certificates of HTTP also apply to gRPC: neither a client without TLS nor one without a
// certificate gets an answer.
func TestGRPC_TLS(t *testing.T) {
	cert, key, pool, pair := certificate(t)
	config, err := load(t, fmt.Sprintf("{endpoint: 'localhost:0', grpc: {endpoint: 'localhost:0'}, tls: {cert_file: %q, key_file: %q, client_ca_file: %q}}", cert, key, cert))
	require.NoError(t, err)
	r := start(t, config)
	r.source.set("shop", tableOf("1", 0.5))
	for name, c := range map[string]struct {
		with credentials.TransportCredentials
		ok   bool
	}{
		"no TLS":         {with: insecure.NewCredentials()},
		"no certificate": {with: credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})},
		"certificate":    {ok: true, with: credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := r.jaegerClient(c.with)
			_, err := askJaeger(t, client, "shop")
			if c.ok {
				assert.NoError(t, err)
			} else {
				assert.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
			}
		})
	}
	r.awaitCounted(map[string]int64{"sampling ok": 1})
}

// Security settings of its own are refused, because they would be a second place for them.
func TestGRPC_RejectsOwnSecurity(t *testing.T) {
	for _, key := range []string{"tls", "auth", "middlewares"} {
		_, err := load(t, "{grpc: {"+key+": {}}}")
		assert.ErrorContains(t, err, key)
	}
	_, err := load(t, "{grpc: {endpoint: ''}}")
	assert.ErrorContains(t, err, "grpc: `endpoint` must be host:port, found nothing")
	_, err = load(t, "{grpc: {endpiont: x}}")
	assert.ErrorContains(t, err, "endpiont")
}

// certificate makes one that is its own authority, for a server and a client.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	require.NoError(t, os.WriteFile(certFile, certPEM, 0o600))
	require.NoError(t, os.WriteFile(keyFile, keyPEM, 0o600))
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certPEM))
	pair, err = tls.X509KeyPair(certPEM, keyPEM)
	require.NoError(t, err)
	return certFile, keyFile, pool, pair
}
