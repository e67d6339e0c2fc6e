// Package match finds what is said about a name by patterns in which * stands for
// any text.
//
// Its invariant: of the patterns that fit, the one with the longest literal prefix
// holds; of equals, the one added last.
//
// It does not know exact names, which a map finds faster.
package match

import (
	"slices"
	"strings"
)

// Patterns maps patterns to values. The zero Patterns is empty.
type Patterns[T any] struct {
	byText map[string]*pattern[T]
	sorted []*pattern[T] // the most specific first; nil = to be sorted
	added  []*pattern[T]
}

type pattern[T any] struct {
	text   string
	prefix int // length of what comes before the first wildcard
	order  int
	value  T
}

// IsPattern tells whether a text has a wildcard.
func IsPattern(text string) bool { return strings.Contains(text, "*") }

// Add adds a pattern. If the same one was added before, its value is replaced and
// returned.
func (p *Patterns[T]) Add(text string, value T) (earlier T, replaced bool) {
	if p.byText == nil {
		p.byText = map[string]*pattern[T]{}
	}
	if old, ok := p.byText[text]; ok {
		earlier, old.value = old.value, value
		return earlier, true
	}
	wild := strings.IndexByte(text, '*')
	if wild < 0 {
		wild = len(text)
	}
	added := &pattern[T]{text: text, prefix: wild, order: len(p.added), value: value}
	p.byText[text] = added
	p.added = append(p.added, added)
	p.sorted = nil
	return earlier, false
}

// Find returns the value of the most specific pattern that fits.
func (p *Patterns[T]) Find(name string) (value T, ok bool) {
	if p.sorted == nil && len(p.added) > 0 {
		p.sorted = slices.Clone(p.added)
		slices.SortFunc(p.sorted, func(a, b *pattern[T]) int {
			if a.prefix != b.prefix {
				return b.prefix - a.prefix
			}
			return b.order - a.order
		})
	}
	for _, candidate := range p.sorted {
		if fits(candidate.text, name) {
			return candidate.value, true
		}
	}
	return value, false
}

// Each calls f for every pattern in the order they were added.
func (p *Patterns[T]) Each(f func(text string, value T)) {
	for _, added := range p.added {
		f(added.text, added.value)
	}
}

// fits tells whether a name fits a pattern. Each literal part takes the first place
// it can, which leaves the most for the rest.
func fits(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], more
	}
}
