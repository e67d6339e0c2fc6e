package adaptivesampler

import (
	"fmt"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
)

// shadowed selects the tiers in shadow. The sampler counts the effect of its decisions for them, and passes their
// spans unchanged.
type shadowed struct {
	all   bool
	tiers []string
}

// shadowOf parses the option: true, false, or a list of tiers.
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

// has reports whether a method is in shadow, by its tier in the method file or else by its learned class.
func (s shadowed) has(tier, class string) bool {
	if tier == "" {
		tier = class
	}
	return s.all || tier != "" && slices.Contains(s.tiers, tier)
}

func (s shadowed) any() bool { return s.all || len(s.tiers) > 0 }

// rowBytes is the approximate size of a measurement in the warehouse. The sampler cannot know how well its
// columns compress.
const rowBytes = 70

// shadow counts the records that decision d would keep and drop of a span.
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
