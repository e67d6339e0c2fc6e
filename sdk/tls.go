package corehour

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
)

// tlsFromEnvironment returns the TLS configuration of OpenTelemetry's variables, or nil if
// there are none. It fails closed: a fault of a file is named on stderr, and there is no
// connection by TLS.
func tlsFromEnvironment() *tls.Config {
	authorities := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"), os.Getenv("OTEL_EXPORTER_OTLP_CERTIFICATE"))
	certificate := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE"), os.Getenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"))
	key := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"), os.Getenv("OTEL_EXPORTER_OTLP_CLIENT_KEY"))
	if authorities+certificate+key == "" {
		return nil
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		secure.RootCAs = x509.NewCertPool() // instead of the system's
		pem, err := os.ReadFile(authorities)
		if err == nil && !secure.RootCAs.AppendCertsFromPEM(pem) {
			err = errors.New("there is no certificate in " + authorities)
		}
		if err != nil {
			messages.Logf("OTEL_EXPORTER_OTLP_CERTIFICATE: no collector is trusted: %v", err)
		}
	}
	if certificate+key != "" {
		// Read for every connection, so a certificate that is renewed is shown.
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			return &pair, err
		}
		if _, err := load(); err != nil {
			messages.Logf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %v", err)
		}
		secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return secure
}
