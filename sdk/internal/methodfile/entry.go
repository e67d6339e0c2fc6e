package methodfile

import (
	"fmt"
	"strings"
)

// Values of scope: they choose the functions that get a probe in a build in addition to those
// that the entry names. At run time only lazy has an effect.
const (
	scopeLazy  = "lazy"
	scopeEager = "eager"
	scopeTotal = "total"
)

// readEntry reads one entry, which is used only if nothing of it is faulty.
func (p *parser) readEntry(i int, v *node) {
	s := p.section(fmt.Sprintf("methods[%d]", i))
	var own Settings
	var class, method, signature, match *string
	s.keys(v, entryKeys, func(key string, v *node) {
		switch key {
		case "class":
			class = s.symbol(key, v)
		case "method":
			method = s.text(key, v)
		case "signature":
			signature = s.text(key, v)
		case "match":
			match = s.symbol(key, v)
		case "tier":
			own.Tier = p.readTier(s, v)
		case "blocking":
			blocking := s.flag(key, v)
			own.Blocking = blocking != nil && *blocking
		case "scope":
			if s.choice(key, v, scopeLazy, scopeEager, scopeTotal) == scopeLazy {
				own.Lazy = i + 1
			}
		default:
			readSetting(&own, s, key, v)
		}
	})
	if s.faulty { // a key that was left out must not be reported as missing too
		return
	}
	add := p.names(s, v.line, class, method, signature, match)
	all := own.withDefaults(p.file.tiers[own.Tier]).withDefaults(p.file.defaults)
	if values := own.unordered(); values != "" {
		s.warn("", v.line, "must hold min <= rate <= max", values, "")
	} else if values := all.unordered(); values != "" {
		s.warn("", v.line, "must hold min <= rate <= max, with the values of its tier and the defaults", values, "")
	}
	if !s.faulty {
		p.add = append(p.add, func() { add(&entry{index: i, settings: all}) })
	}
}

// names returns a function that adds an entry for the methods that it names, in exactly one of
// the two ways: by class and method, or by a pattern.
func (p *parser) names(s *section, line int, class, method, signature, match *string) func(*entry) {
	switch {
	case match != nil && (class != nil || method != nil || signature != nil):
		s.warn("match", line, "must not be combined with `class`, `method` or `signature`", quote(*match), "keep one of the two")
	case match != nil:
		return p.pattern(s, line, *match)
	case class == nil && method == nil:
		s.warn("", line, "must have `class` and `method`, or `match`", "neither", "")
	case class == nil:
		s.warnMissing("class", line, `a function outside any class has "class": ""`)
	case method == nil:
		s.warnMissing("method", line, `all methods of the class are "method": "*"`)
	case *method == "*" && signature != nil:
		s.warn("signature", line, "must not be combined with `\"method\": \"*\"`", quote(*signature), "")
	case signature != nil:
		return func(e *entry) { p.file.addSigned(fullName(*class, *method), *signature, e) }
	default:
		return func(e *entry) { p.file.addMethod(*class, *method, e) }
	}
	return nil
}

func (p *parser) pattern(s *section, line int, match string) func(*entry) {
	text, ok := strings.CutSuffix(match, "*")
	switch {
	case strings.Contains(text, "*"):
		s.warn("match", line, "must have `*` only at its end", quote(match), "")
	case !ok:
		s.warn("match", line, "must end in `*`", quote(match),
			"name one method by `class` and `method`, or write "+quote(match+"*"))
	}
	return func(e *entry) { p.file.addPrefix(text, e) }
}
