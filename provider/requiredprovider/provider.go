// Package requiredprovider reads environment variables that a configuration cannot do without:
// ${required:NAME} is the value of NAME, and an error that names it where it is not set or empty.
//
// Its invariant: what refers to a variable in this way never gets an empty value. The stock
// ${env:NAME} does, and an empty name of a file of certificates switches off what it is for.
//
// It has no defaults: ${env:NAME:-default} has.
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

// Retrieve returns the value of a variable, read as YAML, as the stock provider does.
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

// Scheme is the one that Retrieve takes.
func (provider) Scheme() string { return scheme }

// Shutdown does nothing: variables are not watched.
func (provider) Shutdown(context.Context) error { return nil }
