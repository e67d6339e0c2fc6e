package methodspans

import (
	"fmt"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// frameworks is a pattern that matches all of methodspan.FrameworkScopes.
const frameworks = "(frameworks)"

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
	if p.text == frameworks {
		return methodspan.IsFramework(name)
	}
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

// rules decide which foreign spans are method spans.
type rules []rule

type rule struct {
	service, match pattern
	exclude        bool
}

func newRules(config []ForeignRule) rules {
	out := make(rules, 0, len(config))
	for _, c := range config {
		r := rule{service: parsePattern(c.Service), match: parsePattern(c.Match), exclude: c.Exclude}
		if c.Service == "" {
			r.service.prefix = true
		}
		out = append(out, r)
	}
	return out
}

// forService appends the rules for a service to into.
func (rs rules) forService(service string, into rules) rules {
	for _, r := range rs {
		if r.service.matches(service) {
			into = append(into, r)
		}
	}
	return into
}

// accepts reports whether the rules of a service accept a method. No rule must exclude it, and
// one must include it unless all rules are excluding.
func (rs rules) accepts(name string) bool {
	included, including := false, false
	for _, r := range rs {
		matches := r.match.matches(name)
		if r.exclude && matches {
			return false
		}
		including = including || !r.exclude
		included = included || !r.exclude && matches
	}
	return included || !including && len(rs) > 0
}
