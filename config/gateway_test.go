package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestAgentForwardsToGateway sends a numbered batch through an agent, twice: the
// gateway stores it whole and once.
func TestAgentForwardsToGateway(t *testing.T) {
	keys := makeKeys(t)
	gateway := start(t, "gateway.yaml", map[string]string{
		"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TLS_CLIENT_CA": keys.ca,
	})
	agent := start(t, "agent.yaml", map[string]string{
		"COREHOUR_GATEWAY":  gateway.grpc,
		"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TLS_CA": keys.ca,
	})
	batch := batchOf("shop", 1)
	for range 2 {
		if err := post("http://"+agent.http+"/v1/traces", batch); err != nil {
			t.Fatal(err)
		}
	}
	agent.stop(t) // it forwards what it holds first
	gateway.stop(t)
	rows := storedRows(t, filepath.Join(gateway.dir, "corehour-warehouse"))
	slices.Sort(rows)
	if want := []string{"shop .", "shop shop/cart.Cart.Total", "shop shop/cart.Cart.Total", "shop shop/cart.Cart.Total"}; !slices.Equal(rows, want) {
		t.Errorf("stored %q, want %q", rows, want)
	}
}

// TestGatewayRefusesStrangers: a client without a certificate gets no connection.
func TestGatewayRefusesStrangers(t *testing.T) {
	keys := makeKeys(t)
	gateway := start(t, "gateway.yaml", map[string]string{
		"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TLS_CLIENT_CA": keys.ca,
	})
	for _, address := range []string{gateway.http, gateway.grpc, gateway.rates, gateway.jaeger} {
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: keys.pool, NextProtos: []string{"h2", "http/1.1"}}}
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err == nil {
			// In TLS 1.3 the client learns of the refusal when it reads.
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			_ = conn.Close()
		}
		if err == nil {
			t.Errorf("%s talked to a client without a certificate", address)
		}
	}
}

type keys struct {
	ca, cert, key string // files
	pool          *x509.CertPool
}

// makeKeys makes an authority and one certificate for both ends of the loopback.
func makeKeys(t *testing.T) keys {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	parsed, err := x509.ParseCertificate(caDER)
	must(err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return keys{
		ca: write("ca.pem", "CERTIFICATE", caDER), cert: write("cert.pem", "CERTIFICATE", der),
		key: write("key.pem", "PRIVATE KEY", keyDER), pool: pool,
	}
}
