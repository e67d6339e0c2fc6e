package methodfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/corehour/corehour/sdk/internal/prefix"
)

var (
	settingKeys = []string{"mode", "rate", "cpu_rate", "min", "max", "tail", "stack"}
	entryKeys   = append([]string{"class", "method", "signature", "match", "tier", "scope", "blocking"}, settingKeys...)
	modes       = []string{ModeSample, ModeAggregate, ModeOff}
	// scopes tell a build which callees get a probe too; at run time only lazy means anything.
	scopes = []string{lazy, "eager", "total"}
)

const lazy = "lazy"

// minRate is the lowest rate: a method that is not to be timed has a mode for it.
const minRate = 1e-9

// object reads an object; of another type nothing is left but a fault.
func (p *parser) object(where string, raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil || o == nil {
		p.fault("%s: must be an object, found %s", where, shortened(raw))
	}
	return o
}

// settings reads the keys every place may have, and reports all faults at once.
func (p *parser) settings(where string, o object, known []string) Settings {
	p.unknown(where, o, known...)
	s := Settings{
		Mode:    p.oneOf(where, o, "mode", modes),
		Rate:    p.share(where, o, "rate", minRate),
		CPURate: p.share(where, o, "cpu_rate", 0),
		Min:     p.share(where, o, "min", minRate),
		Max:     p.share(where, o, "max", minRate),
		Tail:    p.flag(where, o, "tail"),
		Stack:   p.flag(where, o, "stack"),
	}
	if !s.ordered() {
		p.fault("%s: must hold min <= rate <= max, found %s", where, boundsOf(s))
	}
	return s
}

func boundsOf(s Settings) string {
	var parts []string
	for _, x := range []struct {
		name  string
		value *float64
	}{{"min", s.Min}, {"rate", s.Rate}, {"max", s.Max}} {
		if x.value != nil {
			parts = append(parts, fmt.Sprintf("%s %v", x.name, *x.value))
		}
	}
	return strings.Join(parts, ", ")
}

// entry reads one entry, which is in force only if nothing is wrong with it.
func (p *parser) entry(i int, raw json.RawMessage) {
	where := fmt.Sprintf("methods[%d]", i)
	before := len(p.file.Faults)
	o := p.object(where, raw)
	if o == nil {
		return
	}
	s := p.settings(where, o, entryKeys)
	if blocking := p.flag(where, o, "blocking"); blocking != nil {
		s.Blocking = *blocking
	}
	if p.oneOf(where, o, "scope", scopes) == lazy {
		s.Lazy = i + 1
	}
	s = s.over(p.tier(where, o).over(p.file.defaults))
	if !s.ordered() && len(p.file.Faults) == before {
		p.fault("%s: must hold min <= rate <= max, with what its tier and the defaults say, found %s", where, boundsOf(s))
	}
	put := p.name(where, o)
	if len(p.file.Faults) == before {
		put(&entry{index: i, settings: s})
	}
}

// name reads which methods an entry is for, and returns what puts it there.
func (p *parser) name(where string, o object) func(*entry) {
	class, method, match := p.text(where, o, "class"), p.text(where, o, "method"), p.text(where, o, "match")
	signature := p.text(where, o, "signature")
	switch {
	case match != nil && (class != nil || method != nil || signature != nil):
		p.fault("%s.match: must not be combined with class, method or signature, found %q", where, *match)
	case match != nil:
		text, ok := prefix.Of(*match)
		if !ok {
			p.fault("%s.match: must end in *, its only one, found %q; a single method is named by class and method", where, *match)
		}
		return func(e *entry) { p.file.addPrefix(text, e) }
	case class == nil && method == nil:
		p.fault("%s: must have class and method, or match", where)
	case class == nil:
		p.fault("%s.class: must be given with method; a function outside any class has \"\"", where)
	case method == nil:
		p.fault("%s.method: must be given with class; * is for all methods of the class", where)
	case *method == "*" && signature != nil:
		p.fault("%s.signature: must not be combined with method *, found %q", where, *signature)
	case signature != nil:
		return func(e *entry) { p.file.addSigned(fullName(*class, *method), *signature, e) }
	default:
		return func(e *entry) { p.file.addMethod(*class, *method, e) }
	}
	return nil
}

// tier returns the settings of the tier that an object names.
func (p *parser) tier(where string, o object) Settings {
	name := p.text(where, o, "tier")
	if name == nil {
		return Settings{}
	}
	s, ok := p.file.tiers[*name]
	if !ok {
		p.fault("%s.tier: must be one of the tiers, found %q%s", where, *name, meant(*name, slices.Sorted(maps.Keys(p.file.tiers))))
	}
	return s
}

// text reads a text. Only a class may be empty; names are compared in their normal
// form, so another form would never fit.
func (p *parser) text(where string, o object, key string) *string {
	raw, ok := o[key]
	if !ok {
		return nil
	}
	var s *string
	switch {
	case json.Unmarshal(raw, &s) != nil || s == nil || *s == "" && key != "class":
		p.fault("%s.%s: must be a text that is not empty, found %s", where, key, shortened(raw))
		return new(string)
	case len(*s) > maxText:
		p.fault("%s.%s: must be at most %d bytes, found %d", where, key, maxText, len(*s))
	case key != "signature" && (strings.Contains(*s, "(*") || strings.Contains(*s, "[...]")):
		p.fault("%s.%s: must have neither (* nor [...], found %q; write %q", where, key, *s,
			strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(*s))
	}
	return s
}

func (p *parser) oneOf(where string, o object, key string, allowed []string) string {
	s := ""
	if raw, ok := o[key]; ok && (json.Unmarshal(raw, &s) != nil || !slices.Contains(allowed, s)) {
		p.fault("%s.%s: must be one of %s, found %s%s", where, key, strings.Join(allowed, ", "), shortened(raw), meant(s, allowed))
		return ""
	}
	return s
}

func (p *parser) share(where string, o object, key string, least float64) *float64 {
	raw, ok := o[key]
	if !ok {
		return nil
	}
	var x *float64
	if json.Unmarshal(raw, &x) != nil || x == nil || !(*x >= least && *x <= 1) {
		p.fault("%s.%s: must be a number between %v and 1, found %s", where, key, least, shortened(raw))
		return nil
	}
	return x
}

func (p *parser) flag(where string, o object, key string) *bool {
	raw, ok := o[key]
	if !ok {
		return nil
	}
	var b *bool
	if json.Unmarshal(raw, &b) != nil || b == nil {
		p.fault("%s.%s: must be true or false, found %s", where, key, shortened(raw))
		return nil
	}
	return b
}
