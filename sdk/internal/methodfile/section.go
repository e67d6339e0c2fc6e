package methodfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// section is one object of the file: an entry, a tier, the defaults or the file itself.
type section struct {
	file   *File
	path   string // empty for the file itself
	faulty bool
}

// warn adds a fault of a key of the section, or of the section if key is empty: the rule that
// is broken, the value found, and a hint how to correct it. Found and hint may be empty.
func (s *section) warn(key string, line int, rule, found, hint string) {
	s.faulty = true
	var b strings.Builder
	b.WriteString(s.path)
	if key != "" {
		if s.path != "" {
			b.WriteByte('.')
		}
		b.WriteString(key)
	}
	switch {
	case line > 0 && b.Len() > 0:
		fmt.Fprintf(&b, " (line %d)", line)
	case line > 0:
		fmt.Fprintf(&b, "line %d", line)
	}
	b.WriteString(": " + rule)
	if found != "" {
		b.WriteString(", found " + found)
	}
	if hint != "" {
		b.WriteString(": " + hint)
	}
	s.file.Faults = append(s.file.Faults, b.String())
}

// keys calls read for every known key of an object, with its value. An unknown key is a fault.
// So is a duplicate one, of which only the first is read.
func (s *section) keys(n *node, known []string, read func(key string, v *node)) {
	if n.kind != kindObject {
		s.warnType("", n, kindObject)
		return
	}
	lines := make(map[string]int, len(n.members))
	for _, m := range n.members {
		if !slices.Contains(known, m.key) {
			s.warn("", m.line, "unknown key "+quote(m.key), "", didYouMean(m.key, known))
			continue
		}
		if first, ok := lines[m.key]; ok {
			s.warnDuplicate(m, first)
			continue
		}
		lines[m.key] = m.line
		read(m.key, m.value)
	}
}

func (s *section) warnDuplicate(m member, first int) {
	s.warn("", m.line, "duplicate key "+quote(m.key), "", fmt.Sprintf("first in line %d", first))
}

func (s *section) warnMissing(key string, line int, hint string) {
	s.warn("", line, "missing key "+quote(key), "", hint)
}

func (s *section) warnType(key string, v *node, want kind) {
	hint := ""
	if v.kind == kindString {
		_, err := strconv.ParseFloat(v.text, 64)
		if want == kindNumber && err == nil || want == kindBool && (v.text == "true" || v.text == "false") {
			hint = "remove the quotes"
		}
	}
	s.warn(key, v.line, "must be "+string(want), v.show(), hint)
}

// share returns a number between low and 1; nil, with a fault, if the value is none.
func (s *section) share(key string, v *node, low float64, hintBelow string) *float64 {
	x := v.number
	if v.kind != kindNumber {
		s.warnType(key, v, kindNumber)
		return nil
	}
	if x >= low && x <= 1 {
		return &x
	}
	hint := ""
	switch {
	case x < low:
		hint = hintBelow
	case x > 1 && x <= 100:
		hint = fmt.Sprintf("rates are shares, %v%% is %v", x, x/100)
	}
	s.warn(key, v.line, fmt.Sprintf("must be between %v and 1", low), v.show(), hint)
	return nil
}

func (s *section) flag(key string, v *node) *bool {
	if v.kind != kindBool {
		s.warnType(key, v, kindBool)
		return nil
	}
	return &v.truth
}

// text returns a string of 1 to maxText characters; nil, with a fault, if the value is none.
func (s *section) text(key string, v *node) *string {
	switch {
	case v.kind != kindString:
		s.warnType(key, v, kindString)
	case v.text == "":
		s.warn(key, v.line, "must not be empty", `""`, "")
	case utf8.RuneCountInString(v.text) > maxText:
		s.warn(key, v.line, fmt.Sprintf("must be at most %d characters", maxText), strconv.Itoa(utf8.RuneCountInString(v.text)), "")
	default:
		return &v.text
	}
	return nil
}

// choice returns one of some words; empty, with a fault, if the value is none of them.
func (s *section) choice(key string, v *node, words ...string) string {
	text := s.text(key, v)
	if text == nil {
		return ""
	}
	if !slices.Contains(words, *text) {
		s.warn(key, v.line, fmt.Sprintf("must be one of %q", words), v.show(), didYouMean(*text, words))
		return ""
	}
	return *text
}

// symbol returns a class or a pattern. Both are compared with names in their normal form, so
// another form would never match.
func (s *section) symbol(key string, v *node) *string {
	if key == "class" && v.kind == kindString && v.text == "" {
		return &v.text // a function outside any class
	}
	text := s.text(key, v)
	if text != nil && (strings.Contains(*text, "(*") || strings.Contains(*text, "[...]")) {
		normal := strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(*text)
		s.warn(key, v.line, "must have neither `(*` nor `[...]`", v.show(), "write "+quote(normal))
		return nil
	}
	return text
}

// quote makes a text of the file printable: control characters are escaped, long ones are cut.
func quote(s string) string {
	const limit = 80
	if len(s) <= limit {
		return fmt.Sprintf("%q", s)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q...", s[:cut])
}
