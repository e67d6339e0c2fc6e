package methodfile

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
)

const maxText = 1024 // bytes of a name; longer ones no language has

// reader collects the warnings of a file.
type reader struct {
	warnings []configfile.Warning
}

// section is one object of the file: an entry, a tier, the defaults, the whole.
type section struct {
	*reader
	where  string
	index  int // -1 outside lists
	faulty bool
}

// warn notes a fault of a field, or of the section if field is empty.
func (s *section) warn(field string, line int, rule, found, hint string) {
	s.faulty = true
	s.warnings = append(s.warnings, configfile.Warning{
		Where: s.where, Index: s.index, Field: field, Line: line, Rule: rule, Value: found, Hint: hint,
	})
}

func (s *section) mistyped(name string, v *node, want kind) {
	hint := ""
	if want == kindNumber && v.kind == kindString {
		if _, err := strconv.ParseFloat(v.text, 64); err == nil {
			hint = "remove the quotes"
		}
	}
	if want == kindBool && v.kind == kindString && (v.text == "true" || v.text == "false") {
		hint = "remove the quotes"
	}
	s.warn(name, v.line, "must be "+string(want), v.show(), hint)
}

// each calls read for every member whose name is known. What is said twice
// counts the first time only, as nobody can tell which was meant.
func (s *section) each(n *node, known []string, read func(name string, v *node)) {
	if n.kind != kindObject {
		s.warn("", n.line, "must be an object", n.show(), "")
		return
	}
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		switch {
		case !slices.Contains(known, m.name):
			s.warn(fieldName(m.name), m.value.line, "must be a known field", configfile.Quote(m.name),
				configfile.DidYouMean(m.name, known))
		case seen[m.name]:
			s.warn(m.name, m.value.line, "must be said once", "it a second time", "")
		default:
			seen[m.name] = true
			read(m.name, m.value)
		}
	}
}

// fieldName is a name that the file chose, fit to be part of a path.
func fieldName(name string) string {
	for _, r := range name {
		if r != '_' && r != '-' && !(r >= '0' && r <= '9') && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') {
			return configfile.Quote(name)
		}
	}
	if name == "" || len(name) > 40 {
		return configfile.Quote(name)
	}
	return name
}

// number reads a number within [low, 1].
func (s *section) number(name string, v *node, low float64, hintBelow string) *float64 {
	if v.kind != kindNumber {
		s.mistyped(name, v, kindNumber)
		return nil
	}
	x, err := strconv.ParseFloat(v.text, 64)
	if err == nil && x >= low && x <= 1 {
		return &x
	}
	hint := ""
	switch {
	case err == nil && x < low:
		hint = hintBelow
	case err == nil && x > 1 && x <= 100:
		hint = fmt.Sprintf("it is a share, not a percentage: %v%% is %v", x, x/100)
	}
	s.warn(name, v.line, fmt.Sprintf("must be between %v and 1", low), v.show(), hint)
	return nil
}

func (s *section) bool(name string, v *node) *bool {
	if v.kind != kindBool {
		s.mistyped(name, v, kindBool)
		return nil
	}
	return &v.truth
}

// text reads a string that says something.
func (s *section) text(name string, v *node) *string {
	switch {
	case v.kind != kindString:
		s.mistyped(name, v, kindString)
		return nil
	case v.text == "":
		s.warn(name, v.line, "must not be empty", `""`, "")
		return nil
	case utf8.RuneCountInString(v.text) > maxText:
		s.warn(name, v.line, fmt.Sprintf("must be at most %d characters", maxText),
			fmt.Sprintf("%d", utf8.RuneCountInString(v.text)), "")
		return nil
	}
	return &v.text
}

// choice reads one of some words.
func choice[T ~string](s *section, name string, v *node, words ...T) *T {
	text := s.text(name, v)
	if text == nil {
		return nil
	}
	word := T(*text)
	if !slices.Contains(words, word) {
		names := make([]string, len(words))
		for i, w := range words {
			names[i] = string(w)
		}
		s.warn(name, v.line, fmt.Sprintf("must be one of %q", names), v.show(), configfile.DidYouMean(*text, names))
		return nil
	}
	return &word
}

// setting reads a field that entries, tiers and defaults share.
func (s *section) setting(to *settings, name string, v *node) {
	const sayOff = `a method that is not to be timed has "mode": "off"`
	switch name {
	case "rate":
		to.rate = s.number(name, v, MinRate, sayOff)
	case "min":
		to.min = s.number(name, v, MinRate, "")
	case "max":
		to.max = s.number(name, v, MinRate, sayOff)
	case "cpu_rate":
		to.cpuRate = s.number(name, v, 0, "")
	case "mode":
		to.mode = choice(s, name, v, ModeSample, ModeAggregate, ModeOff)
	case "tail":
		to.tail = s.bool(name, v)
	case "stack":
		to.stack = s.bool(name, v)
	}
}

var settingFields = []string{"rate", "cpu_rate", "min", "max", "mode", "tail", "stack"}
