package adaptivesampler

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// groupOf tells whose the spans of a resource are, and what a core hour costs
// there, 0 if nothing says.
func groupOf(res pcommon.Resource) (g decide.Group, price float64) {
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
		case methodspan.AttrPrice:
			if usd, ok := methodspan.FloatOf(v); ok && usd > 0 && !math.IsInf(usd, 0) {
				price = usd
			}
		}
	}
	if g.Environment == "" {
		g.Environment = old
	}
	return g, price
}
