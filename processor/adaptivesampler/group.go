package adaptivesampler

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// groupOf returns the service version of a resource.
func groupOf(r *methodspan.ParsedResource) decide.Group {
	return decide.Group{Namespace: r.ServiceNamespace, Service: r.Service, Environment: r.Environment, Version: r.Version}
}

// priceOf returns the price of a core hour for a resource, or 0 if it is unknown.
func (s *sampler) priceOf(r *methodspan.ParsedResource) float64 {
	if s.prices == nil {
		return 0
	}
	return (*s.prices.Get()).Lookup(pricebook.PlaceOf(&r.Resource)).USD
}
