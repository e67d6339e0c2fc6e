package costattribution

import "github.com/corehour/corehour/internal/configfile"

// Lookup finds the price of a core hour where a process runs, in USD; 0 = unpriced.
// Empty parts are unknown.
type Lookup func(cloudProvider, region, hostType, capacityType string) float64

// ParseLookup reads a price book for whoever prices what is stored already, with the
// same rules as the processor.
func ParseLookup(data []byte) (Lookup, []configfile.Warning, error) {
	b, warnings, err := parseBook(data)
	if err != nil {
		return nil, nil, err
	}
	return func(cloudProvider, region, hostType, capacityType string) float64 {
		return b.lookup(place{cloudProvider: cloudProvider, region: region, hostType: hostType, capacityType: capacityType}).usd
	}, warnings, nil
}
