package adaptivesampler

import (
	"fmt"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
)

// shadowed are the tiers that are only reported on: what the sampler would do
// with them is counted, and they pass as if it was not there.
type shadowed struct {
	all   bool
	tiers []string
}

// shadowOf reads the option: true, false, or a list of tiers.
func shadowOf(option any) (shadowed, error) {
	switch value := option.(type) {
	case nil:
		return shadowed{}, nil
	case bool:
		return shadowed{all: value}, nil
	case []any:
		var s shadowed
		for i, item := range value {
			tier, ok := item.(string)
			if !ok || tier == "" {
				return shadowed{}, fmt.Errorf("`shadow[%d]` must be the name of a tier, found %v", i, item)
			}
			s.tiers = append(s.tiers, tier)
		}
		return s, nil
	case []string:
		return shadowed{tiers: value}, nil
	}
	return shadowed{}, fmt.Errorf("`shadow` must be true, false or a list of tiers, found %v", option)
}

// has reports whether a method is in shadow: by its tier in the method file, else by
// the class it was learned to have.
func (s shadowed) has(tier, class string) bool {
	if tier == "" {
		tier = class
	}
	return s.all || tier != "" && slices.Contains(s.tiers, tier)
}

func (s shadowed) any() bool { return s.all || len(s.tiers) > 0 }

// rowBytes is what a measurement takes in the warehouse, about: the sampler does
// not know how well its columns will compress.
const rowBytes = 70

// shadow counts what would become of a span.
func (p *batchPass) shadow(d *decision) {
	m := &p.measurement
	if m.kind() == methodspan.KindCounts {
		return
	}
	would := &p.tally.shadow[d.label]
	keep := 1.0
	switch {
	case d.off():
		keep = 0
	case m.kind() == methodspan.KindCall && m.Text(methodspan.FieldStratum) == "" && m.p != 0 && d.rate*(1+slack) < m.p:
		keep = d.rate / m.p
	}
	would.kept += keep
	would.dropped += 1 - keep
}
