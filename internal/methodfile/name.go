package methodfile

import (
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rulefile"
)

// readSymbol reads a class or a pattern. Both are compared with names in their normal form,
// so another form would never match.
func readSymbol(s *rulefile.Section, key string, v *rulefile.Node) *string {
	if key == "class" && v.Kind == rulefile.KindString && v.Text == "" {
		return &v.Text // a function outside any class
	}
	text := optional(s.Text(key, v))
	if text == nil {
		return nil
	}
	if strings.Contains(*text, "(*") || strings.Contains(*text, "[...]") {
		normal := strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(*text)
		if key == "class" {
			normal = methodspan.ParseFunction(*text + ".m").Class
		}
		s.Warn(key, v.Line, "must have neither `(*` nor `[...]`", v.Show(), "write "+configfile.Quote(normal))
		return nil
	}
	return text
}

// setNames sets the methods that a rule is for, if the entry names them in exactly one of the
// two ways: by class and method, or by a pattern.
func setNames(s *rulefile.Section, rule *Rule, line int, class, method, signature, match *string) {
	switch {
	case match != nil && (class != nil || method != nil || signature != nil):
		s.Warn("match", line, "must not be combined with `class`, `method` or `signature`", configfile.Quote(*match),
			"keep one of the two")
	case match != nil:
		setPattern(s, rule, line, *match)
	case class == nil && method == nil:
		s.Warn("", line, "must have `class` and `method`, or `match`", "neither", "")
	case class == nil:
		s.WarnMissing("class", line, `a function outside any class has "class": ""`)
	case method == nil:
		s.WarnMissing("method", line, `all methods of the class are "method": "*"`)
	case *method == "*" && signature != nil:
		s.Warn("signature", line, "must not be combined with `\"method\": \"*\"`", configfile.Quote(*signature), "")
	default:
		rule.class, rule.method = *class, *method
		if signature != nil {
			rule.signature = *signature
		}
	}
}

func setPattern(s *rulefile.Section, rule *Rule, line int, match string) {
	prefix, ok := strings.CutSuffix(match, "*")
	switch {
	case strings.Contains(prefix, "*"):
		s.Warn("match", line, "must have `*` only at its end", configfile.Quote(match), "")
	case !ok:
		s.Warn("match", line, "must end in `*`", configfile.Quote(match),
			"name one method by `class` and `method`, or write "+configfile.Quote(match+"*"))
	default:
		rule.prefix, rule.isPrefix = prefix, true
	}
}
