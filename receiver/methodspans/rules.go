package methodspans

import (
	"fmt"
	"strings"
)

// pattern is a name, or a prefix of names.
type pattern struct {
	text   string
	prefix bool
}

func parsePattern(s string) pattern {
	text, prefix := strings.CutSuffix(s, "*")
	return pattern{text, prefix}
}

func (p pattern) matches(name string) bool {
	if p.prefix {
		return strings.HasPrefix(name, p.text)
	}
	return name == p.text
}

func validatePattern(key, s string, optional bool) error {
	switch i := strings.IndexByte(s, '*'); {
	case s == "" && !optional:
		return fmt.Errorf("`%s` must name a method, or a prefix of some followed by `*`, found nothing", key)
	case i >= 0 && i < len(s)-1:
		return fmt.Errorf("`%s` may have `*` at its end only, found %q", key, s)
	}
	return nil
}

// rules decide which foreign methods are kept.
type rules []rule

type rule struct{ service, match pattern }

func newRules(config []ForeignRule) rules {
	out := make(rules, 0, len(config))
	for _, c := range config {
		r := rule{service: parsePattern(c.Service), match: parsePattern(c.Match)}
		if c.Service == "" {
			r.service.prefix = true
		}
		out = append(out, r)
	}
	return out
}

// forService leaves the patterns that a service's methods have to match.
func (rs rules) forService(service string, into []pattern) []pattern {
	for _, r := range rs {
		if r.service.matches(service) {
			into = append(into, r.match)
		}
	}
	return into
}

func matchesAny(patterns []pattern, name string) bool {
	for _, p := range patterns {
		if p.matches(name) {
			return true
		}
	}
	return false
}
