package costattribution

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
)

// place is where a process runs, as far as prices depend on it; as the key of
// an entry an empty part stands for any.
type place struct {
	hostType      string
	capacityType  string
	region        string
	cloudProvider string
}

// Bits of the parts that an entry names. Of two entries that name as many, the
// one that names the higher bit is more specific: a type of host says more about
// the price than a region, a region more than a provider.
const (
	hasProvider = 1 << iota
	hasRegion
	hasCapacity
	hasHost
)

func (p place) parts() (mask int) {
	if p.hostType != "" {
		mask |= hasHost
	}
	if p.capacityType != "" {
		mask |= hasCapacity
	}
	if p.region != "" {
		mask |= hasRegion
	}
	if p.cloudProvider != "" {
		mask |= hasProvider
	}
	return mask
}

// only keeps the parts of a mask.
func (p place) only(mask int) place {
	if mask&hasHost == 0 {
		p.hostType = ""
	}
	if mask&hasCapacity == 0 {
		p.capacityType = ""
	}
	if mask&hasRegion == 0 {
		p.region = ""
	}
	if mask&hasProvider == 0 {
		p.cloudProvider = ""
	}
	return p
}

// String is the place as it stands in price sources.
func (p place) String() string {
	parts := []string{p.cloudProvider, p.region, p.hostType, p.capacityType}
	for i, part := range parts {
		if part == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// entry is one price of a book.
type entry struct {
	place
	index int
	usd   float64
}

// verdict is what a book says of a place: a price, or why there is none.
type verdict struct {
	usd     float64 // 0 = unpriced
	source  string
	outcome outcome
}

// book finds prices. It never changes and is safe for concurrent use. It needs
// no cache: a lookup tries as many keys as its entries name different sets of
// parts, at most fifteen.
type book struct {
	entries  map[place]*verdict
	masks    []int // the sets of parts that entries name, most specific first
	fallback *verdict
	nowhere  *verdict // for processes that do not say where they run
}

// emptyBook has no price for anything.
func emptyBook() *book {
	none := unpriced(noPrices)
	return &book{fallback: none, nowhere: none}
}

// newBook compiles prices. Of two entries for one place the later wins, with a
// warning.
func newBook(currency string, fallback float64, entries []entry) (*book, []configfile.Warning) {
	label := ""
	if currency != "" && currency != "USD" {
		label = " " + currency
	}
	b := &book{entries: make(map[place]*verdict, len(entries)), fallback: unpriced(noEntry), nowhere: unpriced(noAttributes)}
	if fallback > 0 {
		b.fallback = &verdict{usd: fallback, source: "default" + label, outcome: byDefault}
		b.nowhere = b.fallback
	}
	var warnings []configfile.Warning
	indexes := make(map[place]int)
	for _, e := range entries {
		if earlier, ok := indexes[e.place]; ok {
			warnings = append(warnings, configfile.Warning{
				Where: fmt.Sprintf("prices[%d]", earlier), Index: earlier,
				Rule:  "must be the only entry for its attributes",
				Value: fmt.Sprintf("prices[%d] for %s too", e.index, configfile.Quote(e.place.String())),
				Hint:  fmt.Sprintf("prices[%d], the later, is used: remove one", e.index),
			})
		}
		indexes[e.place] = e.index
		b.entries[e.place] = &verdict{
			usd:     e.usd,
			source:  fmt.Sprintf("prices[%d] %s%s", e.index, e.place, label),
			outcome: byEntry,
		}
	}
	for p := range b.entries {
		b.masks = append(b.masks, p.parts())
	}
	slices.SortFunc(b.masks, func(a, b int) int {
		return cmp.Or(cmp.Compare(bits.OnesCount(uint(b)), bits.OnesCount(uint(a))), cmp.Compare(b, a))
	})
	b.masks = slices.Compact(b.masks)
	return b, warnings
}

func unpriced(why outcome) *verdict {
	return &verdict{source: "unpriced: " + outcomeNames[why], outcome: why}
}

// lookup finds the most specific entry for a place.
func (b *book) lookup(p place) *verdict {
	known := p.parts()
	if known == 0 {
		return b.nowhere
	}
	for _, mask := range b.masks {
		if mask&^known != 0 {
			continue // the entry asks for what the process does not say
		}
		if v, ok := b.entries[p.only(mask)]; ok {
			return v
		}
	}
	return b.fallback
}
