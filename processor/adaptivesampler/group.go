package adaptivesampler

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// groupOf identifies the service version that the spans of a resource belong to.
func groupOf(res pcommon.Resource) (g decide.Group) {
	old := ""
	for name, v := range res.Attributes().All() {
		switch name {
		case methodspan.ResourceServiceNamespace:
			g.Namespace = v.Str()
		case methodspan.ResourceService:
			g.Service = v.Str()
		case methodspan.ResourceVersion:
			g.Version = v.Str()
		case methodspan.ResourceEnvironment:
			g.Environment = v.Str()
		case methodspan.ResourceOldEnvironment:
			old = v.Str()
		}
	}
	if g.Environment == "" {
		g.Environment = old
	}
	return g
}

// priceOf returns the price of a core hour where a resource runs, 0 if there is none.
func (s *sampler) priceOf(res pcommon.Resource) float64 {
	if s.prices == nil {
		return 0
	}
	return (*s.prices.Get()).Lookup(pricebook.PlaceOf(res.Attributes())).USD
}
