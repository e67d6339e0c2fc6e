package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestAgent_ForwardsToGateway sends a numbered batch through an agent, twice: the
// gateway stores it whole and once.
func TestAgent_ForwardsToGateway(t *testing.T) {
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
	agent.stop(t) // it forwards its queue first
	gateway.stop(t)
	rows := storedRows(t, filepath.Join(gateway.dir, "corehour-warehouse"))
	slices.Sort(rows)
	if want := []string{"shop .", "shop shop/cart.Cart.Total", "shop shop/cart.Cart.Total", "shop shop/cart.Cart.Total"}; !slices.Equal(rows, want) {
		t.Errorf("stored %q, want %q", rows, want)
	}
}

// TestGateway_RefusesForeignCertificates: a client without a certificate, or with one of another authority, gets nothing
// at any port; one with a certificate of the right authority is served.
func TestGateway_RefusesForeignCertificates(t *testing.T) {
	keys, others := makeKeys(t), makeKeys(t)
	gateway := start(t, "gateway.yaml", map[string]string{
		"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TLS_CLIENT_CA": keys.ca,
	})
	anonymous := caller{service: "anonymous", tls: &tls.Config{RootCAs: keys.pool}}
	stranger := caller{service: "stranger", tls: &tls.Config{RootCAs: keys.pool, GetClientCertificate: others.show(t)}}
	known := caller{service: "known", tls: &tls.Config{RootCAs: keys.pool, GetClientCertificate: keys.show(t)}}
	for _, d := range endpoints {
		for _, c := range []caller{anonymous, stranger} {
			err := d.ask(t.Context(), gateway, c)
			if _, answered := errors.AsType[*answerError](err); err == nil || answered || d.grpc && status.Code(err) != codes.Unavailable {
				t.Errorf("%s, %s: %v, want a connection that fails", d.name, c.service, err)
			}
		}
		eventually(t, d.name+" answers who has a certificate", func() error { return d.ask(t.Context(), gateway, known) })
	}
	gateway.stop(t)
	if rows, want := storedRows(t, filepath.Join(gateway.dir, "corehour-warehouse")), []string{"known test.f", "known test.f"}; !slices.Equal(rows, want) {
		t.Errorf("stored %q, want %q", rows, want)
	}
}

// TestGateway_MutualTLSWithAgent: the gateway refuses an agent with a certificate of another authority, and
// an agent refuses a gateway whose certificate its own authority has not signed.
func TestGateway_MutualTLSWithAgent(t *testing.T) {
	keys, others := makeKeys(t), makeKeys(t)
	gateway := start(t, "gateway.yaml", map[string]string{
		"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TLS_CLIENT_CA": keys.ca,
	})
	if err := refusal(t, gateway.grpc, &tls.Config{RootCAs: keys.pool, GetClientCertificate: others.show(t)}); err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
		t.Errorf("with the agent's certificate: %v", err)
	}
	for _, a := range []struct{ cert, key, ca, said string }{
		{others.cert, others.key, keys.ca, "Exporting failed"}, // it may not learn the reason, because it writes before it reads
		{keys.cert, keys.key, others.ca, "x509: certificate signed by unknown authority"},
	} {
		agent := start(t, "agent.yaml", map[string]string{
			"COREHOUR_GATEWAY": gateway.grpc, "COREHOUR_TLS_CERT": a.cert, "COREHOUR_TLS_KEY": a.key, "COREHOUR_TLS_CA": a.ca,
		})
		if err := post("http://"+agent.http+"/v1/traces", batchOf("shop", 1)); err != nil {
			t.Fatal(err) // it keeps data that it cannot forward
		}
		eventually(t, "the agent says "+a.said, func() error {
			if !strings.Contains(agent.log.String(), a.said) {
				return errors.New("it does not")
			}
			return nil
		})
	}
	known := caller{service: "known", tls: &tls.Config{RootCAs: keys.pool, GetClientCertificate: keys.show(t)}}
	eventually(t, "the gateway listens", func() error { return endpoints[0].ask(t.Context(), gateway, known) })
	gateway.stop(t)
	if rows := storedRows(t, filepath.Join(gateway.dir, "corehour-warehouse")); !slices.Equal(rows, []string{"known test.f"}) {
		t.Errorf("stored %q, want what no agent has sent", rows)
	}
}

// refusal returns the server's answer to a client that waits for it.
func refusal(t *testing.T, address string, config *tls.Config) error {
	t.Helper()
	config.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = conn.SetDeadline(time.Now().Add(30 * time.Second))
	for buffer := make([]byte, 1024); err == nil; {
		_, err = conn.Read(buffer)
	}
	return err
}

type keys struct {
	ca, cert, key string // files
	pool          *x509.CertPool
}

// show presents the certificate for any requested authority, as an attacker would.
func (k keys) show(t *testing.T) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		t.Fatal(err)
	}
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
}

// makeKeys creates an authority and one certificate for both ends of the loopback.
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
