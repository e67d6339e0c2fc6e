// Package prefix finds the value for a name among patterns of the form text*.
//
// Its invariant: the longest matching pattern applies; of two equal ones, the later.
//
// It does not handle exact names, which a map finds.
package prefix

import (
	"slices"
	"strings"
)

// Of returns the text before the star of a pattern. The pattern must end with its only star.
func Of(pattern string) (text string, ok bool) {
	text, ok = strings.CutSuffix(pattern, "*")
	return text, ok && !strings.Contains(text, "*")
}

// Table maps prefixes to values. The zero Table is empty.
type Table[T any] struct {
	values  map[string]T
	lengths []int // of the prefixes, longest first
}

// Add adds a prefix. If it was added before, its value is replaced and returned.
func (t *Table[T]) Add(text string, value T) (earlier T, replaced bool) {
	if t.values == nil {
		t.values = map[string]T{}
	}
	earlier, replaced = t.values[text]
	t.values[text] = value
	if at, known := slices.BinarySearchFunc(t.lengths, len(text), func(a, b int) int { return b - a }); !known {
		t.lengths = slices.Insert(t.lengths, at, len(text))
	}
	return earlier, replaced
}

// Find returns the value of the longest prefix of a name.
func (t *Table[T]) Find(name string) (value T, ok bool) {
	for _, n := range t.lengths {
		if n <= len(name) {
			if value, ok = t.values[name[:n]]; ok {
				return value, true
			}
		}
	}
	return value, false
}

// Each calls f for every prefix, in no order.
func (t *Table[T]) Each(f func(text string, value T)) {
	for text, value := range t.values {
		f(text, value)
	}
}
