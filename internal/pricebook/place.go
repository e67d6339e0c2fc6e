package pricebook

import "github.com/corehour/corehour/internal/methodspan"

// PlaceOf returns the place where the process of a resource runs.
func PlaceOf(r *methodspan.Resource) Place {
	return Place{HostType: r.HostType, CapacityType: r.CapacityType, Region: r.Region, CloudProvider: r.CloudProvider}
}
