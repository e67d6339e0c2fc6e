// Package clientca rejects a TLS configuration that is meant to ask clients for certificates and
// would not.
//
// If the environment variable that names the file of authorities is not set, the name is empty, and
// with an empty name TLS asks no client for a certificate.
package clientca

import (
	"errors"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
)

// Check returns an error if the authorities are to be reloaded but their file is not named.
func Check(tls configoptional.Optional[configtls.ServerConfig]) error {
	if !tls.HasValue() {
		return nil
	}
	if c := tls.Get(); c.ReloadClientCAFile && c.ClientCAFile == "" {
		return errors.New("`tls::client_ca_file` is empty and `client_ca_file_reload` is true, so clients without a certificate " +
			"would be served: set the variable that it is read from, or remove `client_ca_file_reload`")
	}
	return nil
}
