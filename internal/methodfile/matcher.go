package methodfile

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rulefile"
)

// Matcher finds the most specific entry for a method. It is immutable and safe for concurrent
// use.
type Matcher struct {
	exact    map[methodspan.Function]*Rule // with and without signature
	classes  map[string]*Rule
	prefixes map[string]*Rule
	lengths  []int // of the prefixes, longest first
}

func newMatcher(rules []*Rule, r *rulefile.Report) Matcher {
	m := Matcher{
		exact:    make(map[methodspan.Function]*Rule),
		classes:  make(map[string]*Rule),
		prefixes: make(map[string]*Rule),
	}
	for _, rule := range rules {
		switch {
		case rule.isPrefix:
			addRule(m.prefixes, rule.prefix, rule, r)
		case rule.method == "*":
			addRule(m.classes, rule.class, rule, r)
		default:
			addRule(m.exact, methodspan.Function{Class: rule.class, Method: rule.method, Signature: rule.signature}, rule, r)
		}
	}
	for prefix := range m.prefixes {
		m.lengths = append(m.lengths, len(prefix))
	}
	slices.SortFunc(m.lengths, func(a, b int) int { return cmp.Compare(b, a) })
	m.lengths = slices.Compact(m.lengths)
	return m
}

// addRule adds a rule. It replaces an earlier one for the same methods, with a warning.
func addRule[K comparable](to map[K]*Rule, key K, rule *Rule, r *rulefile.Report) {
	if earlier, ok := to[key]; ok {
		r.Entry("methods", earlier.Index).Warn("", 0, "must be the only entry for its methods",
			fmt.Sprintf("methods[%d] for %s too", rule.Index, configfile.Quote(rule.name())),
			fmt.Sprintf("the later, methods[%d], is used: remove one", rule.Index))
	}
	to[key] = rule
}

// Len returns the number of entries in force.
func (m *Matcher) Len() int { return len(m.exact) + len(m.classes) + len(m.prefixes) }

// All iterates over the entries in force, in no order.
func (m *Matcher) All() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, rules := range []iter.Seq[*Rule]{maps.Values(m.exact), maps.Values(m.classes), maps.Values(m.prefixes)} {
			for rule := range rules {
				if !yield(rule) {
					return
				}
			}
		}
	}
}

// Lookup returns the most specific entry for a method; false if there is none. The caller must
// not change the rule.
func (m *Matcher) Lookup(f methodspan.Function) (*Rule, bool) {
	if rule, ok := m.exact[f]; ok {
		return rule, true
	}
	if f.Signature != "" { // an entry without a signature is for every signature
		if rule, ok := m.exact[methodspan.Function{Class: f.Class, Method: f.Method}]; ok {
			return rule, true
		}
	}
	if rule, ok := m.classes[f.Class]; ok {
		return rule, true
	}
	if len(m.lengths) == 0 {
		return nil, false
	}
	full := f.Full()
	for _, n := range m.lengths {
		if n <= len(full) {
			if rule, ok := m.prefixes[full[:n]]; ok {
				return rule, true
			}
		}
	}
	return nil, false
}
