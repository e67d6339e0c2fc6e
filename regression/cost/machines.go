package cost

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/regression/query"
)

// Machine is a kind of machine at one price.
type Machine struct {
	CloudProvider string   `json:"cloud_provider"`
	Region        string   `json:"region"`
	HostType      string   `json:"host_type"`
	CapacityType  string   `json:"capacity_type"`
	Source        string   `json:"price_source"`
	USD           *float64 `json:"usd_per_core_hour"`
	Generic       bool     `json:"generic_price"`
	Hosts         int      `json:"hosts"`
	CoreHours     float64  `json:"core_hours"`

	seen map[string]bool
}

// Machines are the kinds of machines that processes ran on, with their prices.
type Machines struct {
	Kinds         []*Machine     `json:"kinds"`
	UnpricedHosts []UnpricedHost `json:"unpriced_hosts"`
	Unmatched     []string       `json:"unmatched_entries"`
	Complete      bool           `json:"complete"`
}

// UnpricedHost is a host without a price, with the reason.
type UnpricedHost struct {
	Host   string `json:"host"`
	Kind   string `json:"kind"`
	Source string `json:"price_source"`
}

// MachinesOf adds up hosts by kind and price. Kinds without a price come first. A book that is not nil
// replaces the stored prices.
func MachinesOf(hosts []query.Priced, book *pricebook.Book) *Machines {
	answer := &Machines{Kinds: []*Machine{}, UnpricedHosts: []UnpricedHost{}, Unmatched: []string{}}
	type key struct {
		query.Place
		source string
		usd    float64
	}
	kinds := map[key]*Machine{}
	matched := map[string]bool{}
	for _, h := range hosts {
		if book != nil {
			v := book.Lookup(h.Place)
			h.Source, h.USD = v.Source, v.USD
		}
		k := key{h.Place, h.Source, h.USD}
		if kinds[k] == nil {
			kinds[k] = &Machine{CloudProvider: h.CloudProvider, Region: h.Region, HostType: h.HostType, CapacityType: h.CapacityType, Source: h.Source, Generic: strings.HasPrefix(h.Source, pricebook.ListSource), seen: map[string]bool{}}
			if h.USD > 0 {
				kinds[k].USD = &h.USD
			}
			answer.Kinds = append(answer.Kinds, kinds[k])
		}
		kind := kinds[k]
		matched[h.Source] = true
		kind.CoreHours += h.CPUNS / 3.6e12
		if !kind.seen[h.Host] {
			kind.seen[h.Host] = true
			kind.Hosts++
			if kind.USD == nil {
				answer.UnpricedHosts = append(answer.UnpricedHosts, UnpricedHost{cmp.Or(h.Host, "(not known)"), kind.name(), kind.priceSource()})
			}
		}
	}
	slices.SortStableFunc(answer.Kinds, func(a, b *Machine) int {
		if (a.USD == nil) != (b.USD == nil) {
			return map[bool]int{true: -1, false: 1}[a.USD == nil]
		}
		return cmp.Compare(b.CoreHours, a.CoreHours)
	})
	if book != nil {
		for _, source := range book.Sources() {
			if !matched[source] {
				answer.Unmatched = append(answer.Unmatched, source)
			}
		}
	}
	return answer
}

func (k *Machine) name() string {
	return pricebook.Place{CloudProvider: k.CloudProvider, Region: k.Region, HostType: k.HostType, CapacityType: k.CapacityType}.String()
}

// priceSource returns the source of the price, or the reason why there is none.
func (k *Machine) priceSource() string {
	if k.Generic {
		return "generic: " + k.Source
	}
	return cmp.Or(k.Source, "unpriced: without a lookup")
}
