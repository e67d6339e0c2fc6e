package pricebook

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
)

// Place is where a process runs, as far as prices depend on it; as the key of
// an entry an empty part stands for any.
type Place struct {
	HostType      string
	CapacityType  string
	Region        string
	CloudProvider string
}

// byWeight returns the parts. Of two entries that name as many, the one that names the later
// part is more specific: a type of host says more about the price than a region, a region more
// than a provider.
func (p *Place) byWeight() [4]*string {
	return [4]*string{&p.CloudProvider, &p.Region, &p.CapacityType, &p.HostType}
}

// parts returns a mask of the parts that are named, the bits by their weight.
func (p Place) parts() (mask int) {
	for i, part := range p.byWeight() {
		if *part != "" {
			mask |= 1 << i
		}
	}
	return mask
}

// only keeps the parts of a mask.
func (p Place) only(mask int) Place {
	for i, part := range p.byWeight() {
		if mask&(1<<i) == 0 {
			*part = ""
		}
	}
	return p
}

// String is the place as it stands in price sources.
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

// Found is what a book says of a place: a price, or why there is none.
type Found struct {
	USD     float64 // 0 = unpriced
	Source  string
	Outcome Outcome
}

// Book finds prices. It never changes and is safe for concurrent use. It needs
// no cache: a lookup tries as many keys as its entries name different sets of
// parts, at most fifteen.
type Book struct {
	entries  map[Place]*Found
	masks    []int // the sets of parts that entries name, most specific first
	fallback *Found
	nowhere  *Found // for processes that do not say where they run
	noLists  bool   // list prices are not used
}

// Empty has no price for anything.
func Empty() *Book {
	none := unpriced(NoPrices)
	return &Book{fallback: none, nowhere: none}
}

// New compiles prices. Of two entries for one place the later wins, with a
// warning.
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

// None reports whether it has no prices at all.
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
			continue // the entry asks for what the process does not say
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

// WithoutLists leaves places without an entry and without a default unpriced.
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
