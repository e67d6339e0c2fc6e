package rulefile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
)

// MaxText bounds a string, in characters.
const MaxText = 1024

// Report collects the warnings of a file.
type Report struct {
	Warnings []configfile.Warning
}

// Section is one object of a file: an entry of a list, a part with a name, or the file itself.
type Section struct {
	report *Report
	where  string
	index  int
	faulty bool
}

// Section returns a section at a path such as `defaults`; an empty path is the file itself.
func (r *Report) Section(path string) *Section {
	return &Section{report: r, where: path, index: -1}
}

// Entry returns the section of an item of a list.
func (r *Report) Entry(list string, index int) *Section {
	return &Section{report: r, where: fmt.Sprintf("%s[%d]", list, index), index: index}
}

// Faulty reports whether the section has a warning.
func (s *Section) Faulty() bool { return s.faulty }

// Warn adds a warning about a key of the section, or about the section if key is empty: the
// rule that is broken, the value found, and a hint how to correct it. Found and hint may be
// empty.
func (s *Section) Warn(key string, line int, rule, found, hint string) {
	s.faulty = true
	s.report.Warnings = append(s.report.Warnings, configfile.Warning{
		Where: s.where, Index: s.index, Field: key, Line: line, Rule: rule, Value: found, Hint: hint,
	})
}

// Keys calls read for every known key of an object, with its value. An unknown key gets a
// warning. So does a duplicate one, of which only the first is read.
func (s *Section) Keys(n *Node, known []string, read func(key string, v *Node)) {
	if n.Kind != KindObject {
		s.Warn("", n.Line, "must be an object", n.Show(), "")
		return
	}
	lines := make(map[string]int, len(n.Members))
	for _, m := range n.Members {
		if !slices.Contains(known, m.Key) {
			s.Warn("", m.Line, "unknown key "+configfile.Quote(m.Key), "", configfile.DidYouMean(m.Key, known))
			continue
		}
		if first, ok := lines[m.Key]; ok {
			s.WarnDuplicate(m, first)
			continue
		}
		lines[m.Key] = m.Line
		read(m.Key, m.Value)
	}
}

// WarnDuplicate adds the warning about a key that was read before, in line first.
func (s *Section) WarnDuplicate(m Member, first int) {
	s.Warn("", m.Line, "duplicate key "+configfile.Quote(m.Key), "", fmt.Sprintf("first in line %d", first))
}

// Items calls read for every item of a list, up to limit.
func (s *Section) Items(key string, n *Node, limit int, read func(i int, v *Node)) {
	if n.Kind != KindList {
		s.Warn(key, n.Line, "must be a list", n.Show(), "")
		return
	}
	for i, m := range n.Members {
		if i == limit {
			s.Warn(key, m.Line, fmt.Sprintf("must have at most %d entries", limit), strconv.Itoa(len(n.Members)), "")
			return
		}
		read(i, m.Value)
	}
}

// WarnMissing adds the warning about a key that an object in a line must have.
func (s *Section) WarnMissing(key string, line int, hint string) {
	s.Warn("", line, "missing key "+configfile.Quote(key), "", hint)
}

// WarnType adds the warning about a value of another type than it must have.
func (s *Section) WarnType(key string, v *Node, want Kind) {
	hint := ""
	if v.Kind == KindString {
		_, err := strconv.ParseFloat(v.Text, 64)
		if want == KindNumber && err == nil || want == KindBool && (v.Text == "true" || v.Text == "false") {
			hint = "remove the quotes"
		}
	}
	s.Warn(key, v.Line, "must be "+string(want), v.Show(), hint)
}

// Number returns a number; false, with a warning, if the value is none.
func (s *Section) Number(key string, v *Node) (float64, bool) {
	if v.Kind != KindNumber {
		s.WarnType(key, v, KindNumber)
		return 0, false
	}
	return v.Number, true
}

// Bool returns a boolean; false, with a warning, if the value is none.
func (s *Section) Bool(key string, v *Node) (value, ok bool) {
	if v.Kind != KindBool {
		s.WarnType(key, v, KindBool)
		return false, false
	}
	return v.True, true
}

// Text returns a string of 1 to MaxText characters; false, with a warning, if the value is none.
func (s *Section) Text(key string, v *Node) (string, bool) {
	switch {
	case v.Kind != KindString:
		s.WarnType(key, v, KindString)
	case v.Text == "":
		s.Warn(key, v.Line, "must not be empty", `""`, "")
	case utf8.RuneCountInString(v.Text) > MaxText:
		s.Warn(key, v.Line, fmt.Sprintf("must be at most %d characters", MaxText), strconv.Itoa(utf8.RuneCountInString(v.Text)), "")
	default:
		return v.Text, true
	}
	return "", false
}

// Choice returns one of some words; false, with a warning, if the value is none of them.
func (s *Section) Choice(key string, v *Node, words ...string) (string, bool) {
	text, ok := s.Text(key, v)
	if ok && !slices.Contains(words, text) {
		s.Warn(key, v.Line, fmt.Sprintf("must be one of %q", words), v.Show(), configfile.DidYouMean(text, words))
		return "", false
	}
	return text, ok
}

// CheckVersion returns an error unless the value of the key `version` is 1. v is nil if the
// file has no such key.
func CheckVersion(v *Node) error {
	if v == nil {
		return errors.New(`"version" must be 1, found none: add "version": 1`)
	}
	if v.Kind != KindNumber || v.Text != "1" {
		return fmt.Errorf(`line %d: "version" must be 1, found %s`, v.Line, v.Show())
	}
	return nil
}
