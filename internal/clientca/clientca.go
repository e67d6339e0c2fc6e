// Package clientca refuses a server that should ask clients for certificates and would not.
//
// A file of authorities that is named by an environment variable which is not set is an empty
// name, and with an empty name TLS asks nobody for a certificate.
package clientca

import (
	"errors"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
)

// Check reports that authorities are to be read again when they change, but not from where.
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
