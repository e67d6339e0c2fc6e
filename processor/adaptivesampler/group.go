package adaptivesampler

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// groupOf identifies the service version that the spans of a resource belong to.
func groupOf(r *methodspan.ParsedResource) decide.Group {
	return decide.Group{Namespace: r.ServiceNamespace, Service: r.Service, Environment: r.Environment, Version: r.Version}
}

// priceOf returns the price of a core hour where a resource runs, 0 if there is none.
func (s *sampler) priceOf(r *methodspan.ParsedResource) float64 {
	if s.prices == nil {
		return 0
	}
	return (*s.prices.Get()).Lookup(pricebook.PlaceOf(&r.Resource)).USD
}
