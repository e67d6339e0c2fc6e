package pricebook

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed list.yaml
var listFile []byte

// ListSource begins the source of prices that come from public price lists.
const ListSource = "list "

// List is a list of public prices, which is part of the program.
type List struct {
	CloudProvider  string             `yaml:"cloud_provider"`
	Region         string             `yaml:"region"` // of the prices
	Date           string             `yaml:"date"`
	Source         string             `yaml:"source"`
	USDPerCoreHour map[string]float64 `yaml:"usd_per_core_hour"` // by family, or type of host
}

// Lists returns the public price lists.
func Lists() ([]List, error) {
	var file struct {
		Lists []List `yaml:"lists"`
	}
	if err := yaml.Unmarshal(listFile, &file); err != nil {
		return nil, fmt.Errorf("list.yaml: %w", err)
	}
	return file.Lists, nil
}

// listName is the key of a price in a list.
type listName struct{ provider, name string }

// listed returns the prices of all lists. A test makes sure that the lists are valid.
var listed = sync.OnceValue(func() map[listName]*Found {
	all := map[listName]*Found{}
	lists, _ := Lists()
	for _, l := range lists {
		for name, usd := range l.USDPerCoreHour {
			all[listName{l.CloudProvider, name}] = &Found{
				USD: usd, Outcome: ByList,
				Source: fmt.Sprintf("%s%s/%s (%s, %s)", ListSource, l.CloudProvider, name, l.Region, l.Date),
			}
		}
	}
	return all
})

// onDemand are the names of on-demand capacity, for which lists have prices. No convention exists.
var onDemand = []string{"", "on-demand", "on_demand", "ondemand", "standard", "regular"}

// lookupList returns the list price of on-demand capacity for the host type of a place, else for
// its family, in any region; nil if there is none.
func lookupList(p Place) *Found {
	if p.CloudProvider == "" || p.HostType == "" || !slices.Contains(onDemand, strings.ToLower(p.CapacityType)) {
		return nil
	}
	if v := listed()[listName{p.CloudProvider, p.HostType}]; v != nil {
		return v
	}
	return listed()[listName{p.CloudProvider, Family(p.HostType)}]
}
