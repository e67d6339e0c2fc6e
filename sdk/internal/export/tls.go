package export

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
)

// TLS returns a TLS configuration from the files that OpenTelemetry's variables name, or nil without
// any. It fails closed: a fault of a file is logged, and no TLS connection is made.
func TLS(authorities, certificate, key string, logf func(string, ...any)) *tls.Config {
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
			logf("OTEL_EXPORTER_OTLP_CERTIFICATE: no collector is trusted: %v", err)
		}
	}
	if certificate+key != "" {
		// Read for every connection, so a renewed certificate is used.
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			return &pair, err
		}
		if _, err := load(); err != nil {
			logf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %v", err)
		}
		secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return secure
}
