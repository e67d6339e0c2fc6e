// Package requiredprovider resolves environment variables that must be set: ${required:NAME} is
// the value of NAME, or an error that names the variable if it is unset or empty.
//
// Its invariant: a reference never resolves to an empty value. The stock ${env:NAME} may, and
// an empty name of a certificate file can switch off a check, such as that of client
// certificates.
//
// It has no defaults; use ${env:NAME:-default} for these.
package requiredprovider

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

const scheme = "required"

type provider struct{}

// NewFactory returns a factory of providers of the scheme "required".
func NewFactory() confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider { return provider{} })
}

// Retrieve returns the value of a variable, parsed as YAML, like the stock provider.
func (provider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	name, ok := strings.CutPrefix(uri, scheme+":")
	if !ok {
		return nil, fmt.Errorf("%q is not of the scheme %q", uri, scheme)
	}
	value := os.Getenv(name)
	if strings.TrimSpace(value) == "" {
		return nil, fmt.Errorf("the environment variable %s must be set, found nothing: the configuration requires it, see the comment at its head", name)
	}
	return confmap.NewRetrievedFromYAML([]byte(value))
}

// Scheme returns the scheme that Retrieve resolves.
func (provider) Scheme() string { return scheme }

// Shutdown does nothing: variables are not watched.
func (provider) Shutdown(context.Context) error { return nil }
