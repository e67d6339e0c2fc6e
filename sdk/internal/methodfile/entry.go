package methodfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	settingKeys = []string{"mode", "rate", "cpu_rate", "min", "max", "blocking", "tail"}
	entryKeys   = append([]string{"class", "method", "signature", "match", "tier", "scope"}, settingKeys...)
	modes       = []string{ModeSample, ModeAggregate, ModeOff}
	// scopes tell a build which callees get a probe too; at run time they mean nothing.
	scopes = []string{"eager", "lazy", "total"}
)

// settings reads the keys every place may have. It reports all faults at once and
// is of no use if there was any.
func (p *parser) settings(where string, raw json.RawMessage, known []string) (Settings, bool) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		p.fault("%s: must be an object, found %s", where, shortened(raw))
		return Settings{}, false
	}
	before := len(p.file.Faults)
	p.unknown(where, o, known...)
	var s Settings
	s.Mode = p.oneOf(where, o, "mode", modes)
	s.Rate = p.share(where, o, "rate")
	s.CPURate = p.share(where, o, "cpu_rate")
	s.Min = p.share(where, o, "min")
	s.Max = p.share(where, o, "max")
	s.Blocking = p.flag(where, o, "blocking")
	s.Tail = p.flag(where, o, "tail")
	if s.Min != nil && s.Max != nil && *s.Min > *s.Max {
		p.fault("%s.min: must be at most max, found %v and %v", where, *s.Min, *s.Max)
	}
	return s, len(p.file.Faults) == before
}

func (p *parser) entry(i int, raw json.RawMessage) {
	where := fmt.Sprintf("methods[%d]", i)
	before := len(p.file.Faults)
	own, _ := p.settings(where, raw, entryKeys)
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return
	}
	class, method, match := p.text(where, o, "class"), p.text(where, o, "method"), p.text(where, o, "match")
	p.text(where, o, "signature")
	p.oneOf(where, o, "scope", scopes)
	switch {
	case match != "" && class+method != "":
		p.fault("%s: must have either match, or class and method, found both", where)
	case match == "" && class == "":
		p.fault("%s: must have match, or class and method", where)
	case match == "" && method == "":
		p.fault("%s.method: must name a method, or * for all of the class", where)
	case strings.Contains(class, "*") && !strings.Contains(class, "(*"):
		p.fault("%s.class: must be a class; for a pattern use match, found %q", where, class)
	}
	settings := own.over(p.file.defaults)
	if tier := p.text(where, o, "tier"); tier != "" {
		if base, ok := p.file.tiers[tier]; ok {
			settings = own.over(base.over(p.file.defaults))
		} else {
			p.fault("%s.tier: must be one of the tiers, found %q%s", where, tier, p.nearTier(tier))
		}
	}
	if len(p.file.Faults) > before {
		return
	}
	e := &entry{index: i, settings: settings}
	if match != "" {
		p.file.addMatch(p.normalPattern(match), e)
	} else {
		p.file.addMethod(p.normal(class), method, e)
	}
}

func (p *parser) nearTier(tier string) string {
	if near := nearest(tier, slices.Sorted(maps.Keys(p.file.tiers))); near != "" {
		return fmt.Sprintf("; did you mean %q", near)
	}
	return ""
}

// normalPattern normalises what is no wildcard: (*Cart) is a type.
func (p *parser) normalPattern(match string) string {
	const wild = "\x00"
	match = strings.ReplaceAll(match, "(*", "(\x01")
	match = strings.ReplaceAll(match, "*", wild)
	match = strings.ReplaceAll(match, "(\x01", "(*")
	return strings.ReplaceAll(p.normal(match), wild, "*")
}

func (p *parser) text(where string, o object, key string) string {
	raw, ok := o[key]
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" {
		p.fault("%s.%s: must be a text that is not empty, found %s", where, key, shortened(raw))
	}
	return s
}

func (p *parser) oneOf(where string, o object, key string, allowed []string) string {
	s := ""
	if raw, ok := o[key]; ok && (json.Unmarshal(raw, &s) != nil || !slices.Contains(allowed, s)) {
		p.fault("%s.%s: must be %s, found %s", where, key, strings.Join(allowed, ", "), shortened(raw))
	}
	return s
}

func (p *parser) share(where string, o object, key string) *float64 {
	raw, ok := o[key]
	if !ok {
		return nil
	}
	var x *float64
	if json.Unmarshal(raw, &x) != nil || x == nil || !(*x >= 0 && *x <= 1) {
		p.fault("%s.%s: must be within 0 and 1, found %s", where, key, shortened(raw))
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
