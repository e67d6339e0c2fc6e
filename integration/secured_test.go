package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSecuredCollector_SDKNeedsNoCode runs a service at the shipped configurations that
// authenticate senders. Only environment variables name the certificates, or the token, for OTLP
// and for rates.
func TestSecuredCollector_SDKNeedsNoCode(t *testing.T) {
	t.Parallel()
	certificate, key := selfSigned(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, c := range map[string]struct{ collector, service []string }{
		"tokens.yaml": {
			[]string{"COREHOUR_TOKENS=" + tokens},
			[]string{"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20t0ken"},
		},
		"gateway.yaml": {
			[]string{"COREHOUR_TLS_CLIENT_CA=" + certificate},
			[]string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + certificate, "OTEL_EXPORTER_OTLP_CLIENT_KEY=" + key},
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			p := newShippedPipeline(t, "")
			p.Configs[0] = "../config/" + file
			p.Env = append(p.Env, c.collector...)
			p.Env = append(p.Env, "COREHOUR_TLS_CERT="+certificate, "COREHOUR_TLS_KEY="+key)
			p.start(t)
			_, rates, _ := strings.Cut(p.Rates, ":")
			service := append([]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT=https://" + p.HTTP, "OTEL_EXPORTER_OTLP_CERTIFICATE=" + certificate, "COREHOUR_RATES_ENDPOINT=:" + rates,
			}, c.service...)
			l := startLoadByEnvironment(t, service, "w", "--pause", "1ms")
			p.awaitMetric(t, 1, "otelcol_receiver_method_spans_received", "kind", "counts")
			r := l.end(t)
			p.awaitMetric(t, 1, "otelcol_extension_sampling_rates_requests", "endpoint", "rates")
			p.stop(t)
			requireExact(t, p, r)
			requireQuietLog(t, p)
		})
	}
}

// selfSigned writes a certificate that is its own authority, for both ends of the loopback.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}
