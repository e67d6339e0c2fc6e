package pricebook

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
)

// Place describes where a process runs, as far as prices depend on it. In the key of an entry an
// empty part matches any.
type Place struct {
	HostType      string
	CapacityType  string
	Region        string
	CloudProvider string
}

// byWeight returns the parts, the least specific first. Of two entries with equally many parts,
// the one with the more specific part takes precedence: the price depends on the host type more
// than on the region, and on the region more than on the provider.
func (p *Place) byWeight() [4]*string {
	return [4]*string{&p.CloudProvider, &p.Region, &p.CapacityType, &p.HostType}
}

// parts returns a bit mask of the parts that are set, in the order of byWeight.
func (p Place) parts() (mask int) {
	for i, part := range p.byWeight() {
		if *part != "" {
			mask |= 1 << i
		}
	}
	return mask
}

// only returns the place with only the parts of a mask.
func (p Place) only(mask int) Place {
	for i, part := range p.byWeight() {
		if mask&(1<<i) == 0 {
			*part = ""
		}
	}
	return p
}

// String returns the place as price sources contain it.
func (p Place) String() string {
	parts := []string{p.CloudProvider, p.Region, p.HostType, p.CapacityType}
	for i, part := range parts {
		if part == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// Entry is one price of a book.
type Entry struct {
	Place
	Index int
	USD   float64
}

// Found is the price of a place, or the reason why there is none.
type Found struct {
	USD     float64 // 0 = unpriced
	Source  string
	Outcome Outcome
}

// Book finds prices. It is immutable and safe for concurrent use. It needs no cache: a lookup
// tries one key for each set of parts that entries use, at most fifteen.
type Book struct {
	entries  map[Place]*Found
	masks    []int // the sets of parts that entries use, most specific first
	fallback *Found
	nowhere  *Found // for resources that name no place
	noLists  bool   // list prices are not used
}

// Empty returns a book without prices.
func Empty() *Book {
	none := unpriced(NoPrices)
	return &Book{fallback: none, nowhere: none}
}

// New returns a book. Of two entries for one place it uses the later, with a warning. A currency
// other than USD switches list prices off.
func New(currency string, fallback float64, entries []Entry) (*Book, []configfile.Warning) {
	label := ""
	if currency != "" && currency != "USD" {
		label = " " + currency
	}
	b := &Book{noLists: label != "", entries: make(map[Place]*Found, len(entries)), fallback: unpriced(NoEntry), nowhere: unpriced(NoAttributes)}
	if fallback > 0 {
		b.fallback = &Found{USD: fallback, Source: "default" + label, Outcome: ByDefault}
		b.nowhere = b.fallback
	}
	var warnings []configfile.Warning
	indexes := make(map[Place]int)
	for _, e := range entries {
		if earlier, ok := indexes[e.Place]; ok {
			warnings = append(warnings, configfile.Warning{
				Where: fmt.Sprintf("prices[%d]", earlier), Index: earlier,
				Rule:  "must be the only entry for its attributes",
				Value: fmt.Sprintf("prices[%d] for %s too", e.Index, configfile.Quote(e.Place.String())),
				Hint:  fmt.Sprintf("the later, prices[%d], is used: remove one", e.Index),
			})
		}
		indexes[e.Place] = e.Index
		b.entries[e.Place] = &Found{
			USD:     e.USD,
			Source:  fmt.Sprintf("prices[%d] %s%s", e.Index, e.Place, label),
			Outcome: ByEntry,
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

// None reports whether the book has no prices of its own.
func (b *Book) None() bool { return b.fallback.Outcome == NoPrices }

func unpriced(why Outcome) *Found {
	return &Found{Source: "unpriced: " + why.String(), Outcome: why}
}

// Lookup finds the most specific entry for a place.
func (b *Book) Lookup(p Place) *Found {
	known := p.parts()
	if known == 0 {
		return b.nowhere
	}
	for _, mask := range b.masks {
		if mask&^known != 0 {
			continue // the entry needs a part that the process does not have
		}
		if v, ok := b.entries[p.only(mask)]; ok {
			return v
		}
	}
	if !b.noLists && !b.fallback.Outcome.Priced() {
		if v := lookupList(p); v != nil {
			return v
		}
	}
	return b.fallback
}

// WithoutLists switches list prices off.
func (b *Book) WithoutLists() *Book {
	b.noLists = true
	return b
}

// Sources returns the sources of all entries, in their order in the file.
func (b *Book) Sources() []string {
	var sources []string
	for _, v := range b.entries {
		sources = append(sources, v.Source)
	}
	number := func(source string) (n int) {
		_, _ = fmt.Sscanf(source, "prices[%d]", &n)
		return n
	}
	slices.SortFunc(sources, func(x, y string) int { return cmp.Compare(number(x), number(y)) })
	return sources
}
