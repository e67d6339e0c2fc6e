package methodfile

import (
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// symbol reads a class or a pattern. These are compared with names in their
// normal form, so another form would never match.
func (s *section) symbol(name string, v *node) *string {
	if name == "class" && v.kind == kindString && v.text == "" {
		return &v.text // a function outside any class
	}
	text := s.text(name, v)
	if text == nil {
		return nil
	}
	if strings.Contains(*text, "(*") || strings.Contains(*text, "[...]") {
		normal := strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(*text)
		if name == "class" {
			normal = methodspan.ParseFunction(*text + ".m").Class
		}
		s.warn(name, v.line, "must have neither `(*` nor `[...]`", v.show(), "write "+configfile.Quote(normal))
		return nil
	}
	return text
}

// name checks that the entry names methods in one of the two ways, and notes
// which.
func (s *section) name(rule *Rule, line int, class, method, signature, match *string) {
	switch {
	case match != nil && (class != nil || method != nil || signature != nil):
		s.warn("match", line, "must not be combined with `class`, `method` or `signature`", configfile.Quote(*match),
			"one entry names methods in one way")
	case match != nil:
		s.pattern(rule, line, *match)
	case class == nil && method == nil:
		s.warn("", line, "must have `class` and `method`, or `match`", "neither", "")
	case class == nil:
		s.warn("class", line, "must be given with `method`", "nothing", `a function outside any class has "class": ""`)
	case method == nil:
		s.warn("method", line, "must be given with `class`", "nothing", `all methods of the class are "method": "*"`)
	case *method == "*" && signature != nil:
		s.warn("signature", line, "must not be combined with `\"method\": \"*\"`", configfile.Quote(*signature), "")
	default:
		rule.class, rule.method = *class, *method
		if signature != nil {
			rule.signature = *signature
		}
	}
}

func (s *section) pattern(rule *Rule, line int, match string) {
	prefix, ok := strings.CutSuffix(match, "*")
	switch {
	case strings.Contains(prefix, "*"):
		s.warn("match", line, "may have `*` at its end only", configfile.Quote(match), "")
	case !ok:
		s.warn("match", line, "must end in `*`", configfile.Quote(match),
			"name one method by `class` and `method`, or write "+configfile.Quote(match+"*"))
	default:
		rule.prefix, rule.isPrefix = prefix, true
	}
}
