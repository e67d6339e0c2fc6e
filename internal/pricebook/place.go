package pricebook

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
)

// PlaceOf is the place that the attributes of a resource name.
func PlaceOf(attributes pcommon.Map) (p Place) {
	attributes.Range(func(name string, v pcommon.Value) bool {
		switch name {
		case methodspan.ResourceHostType:
			p.HostType = v.Str()
		case methodspan.ResourceCapacityType:
			p.CapacityType = v.Str()
		case methodspan.ResourceRegion:
			p.Region = v.Str()
		case methodspan.ResourceCloudProvider:
			p.CloudProvider = v.Str()
		}
		return true
	})
	return p
}
