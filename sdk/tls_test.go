package corehour

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Collectors and rates servers that require a client certificate get the one that the variables name. With
// any fault there is no connection.
func TestTLS_Environment(t *testing.T) {
	ours, theirs := newPair(t), newPair(t)
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for name, c := range map[string]struct {
		variables map[string]string
		works     bool
		said      string
	}{
		"all":             {map[string]string{"CERTIFICATE": ours.cert, "CLIENT_CERTIFICATE": ours.cert, "CLIENT_KEY": ours.key}, true, ""},
		"for traces":      {map[string]string{"CERTIFICATE": nowhere, "TRACES_CERTIFICATE": ours.cert, "CLIENT_CERTIFICATE": ours.cert, "CLIENT_KEY": ours.key}, true, ""},
		"none":            {nil, false, ""},
		"no certificate":  {map[string]string{"CERTIFICATE": ours.cert}, false, ""},
		"no authority":    {map[string]string{"CLIENT_CERTIFICATE": ours.cert, "CLIENT_KEY": ours.key}, false, ""},
		"other authority": {map[string]string{"CERTIFICATE": theirs.cert, "CLIENT_CERTIFICATE": ours.cert, "CLIENT_KEY": ours.key}, false, ""},
		"not trusted":     {map[string]string{"CERTIFICATE": ours.cert, "CLIENT_CERTIFICATE": theirs.cert, "CLIENT_KEY": theirs.key}, false, ""},
		"no such file":    {map[string]string{"CERTIFICATE": nowhere, "CLIENT_CERTIFICATE": ours.cert, "CLIENT_KEY": ours.key}, false, "OTEL_EXPORTER_OTLP_CERTIFICATE: no collector is trusted: open " + nowhere},
		"no PEM":          {map[string]string{"CERTIFICATE": ours.key, "CLIENT_CERTIFICATE": ours.cert, "CLIENT_KEY": ours.key}, false, "there is no certificate in " + ours.key},
		"no key":          {map[string]string{"CERTIFICATE": ours.cert, "CLIENT_CERTIFICATE": ours.cert}, false, "OTEL_EXPORTER_OTLP_CLIENT_KEY: open"},
	} {
		t.Run(name, func(t *testing.T) {
			said := hear(t)
			var sent, asked atomic.Int64
			server := ours.serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					asked.Add(1)
				} else {
					sent.Add(1)
				}
			})
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
			t.Setenv("COREHOUR_RATES_ENDPOINT", server.URL)
			for variable, value := range c.variables {
				t.Setenv("OTEL_EXPORTER_OTLP_"+variable, value)
			}
			shutdown, err := Start(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			started.Begin().End()
			for c.works && asked.Load() == 0 {
				time.Sleep(time.Millisecond) // until the test times out
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if !c.works {
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
			}
			err = shutdown(ctx)
			if works := err == nil; works != c.works || c.works != (sent.Load() > 0) || c.works != (asked.Load() > 0) {
				t.Errorf("%d sent, %d asked, shutdown says %v", sent.Load(), asked.Load(), err)
			}
			if !strings.Contains(said(), c.said) {
				t.Errorf("not said: %s\n%s", c.said, said())
			}
		})
	}
}

// pair is a self-signed certificate for both ends.
type pair struct{ cert, key string }

func newPair(t *testing.T) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := pair{filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")}
	for path, block := range map[string]*pem.Block{p.cert: {Type: "CERTIFICATE", Bytes: der}, p.key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// serve requires a client certificate signed by this one.
func (p pair) serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	own, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	server.TLS.ClientCAs.AddCert(own.Leaf)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}
