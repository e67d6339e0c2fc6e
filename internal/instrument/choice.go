package instrument

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
)

// choice is the selection of functions that get a probe, with its messages.
type choice struct {
	packages []*found // whose files change
	probes   int
	probed   int            // packages with probes
	left     map[string]int // functions without a probe, by reason
	notes    []string       // faults of the method file, each once
}

// choose selects the functions of the packages that get a probe. Without a method file, or if its
// defaults measure methods, these are all functions but straight code that the compiler inlines; otherwise
// those that entries name, or reach by their scope. An entry for one method gives it a probe in any case.
func choose(all []*found, file *methodfile.File, reached scopes, others []string) *choice {
	c := &choice{left: map[string]int{}}
	used := map[int]bool{}
	for _, k := range all {
		everything := !k.pkg.vendored && (file == nil || file.Default.Measures())
		next := 0
		for _, s := range k.sources {
			for _, f := range s.functions {
				rule, named := ruleOf(file, f)
				if named {
					used[rule.Index] = true
				}
				switch {
				case f.reason != "":
					if named && rule.Single() {
						c.notes = append(c.notes, fmt.Sprintf("methods[%d]: %s stays without probe: %s", rule.Index, f.name, f.reason))
					}
				case !named && !everything && reached[f] == nil:
					f.reason = notNamed
				case f.inline && !f.works && !(named && rule.Single()):
					f.reason = inlinable
				default:
					f.index = next
					next++
					c.probes++
					continue
				}
				if !k.pkg.vendored {
					c.left[f.reason]++
				}
			}
		}
		if len(k.unparsed) > 0 {
			c.left[unparsed] += len(k.unparsed)
		}
		if next > 0 {
			c.probed++
		}
		if slices.ContainsFunc(k.sources, (*source).changed) {
			c.packages = append(c.packages, k)
		}
	}
	if file != nil {
		c.notes = append(c.notes, unused(all, file, used, others)...)
	}
	return c
}

func ruleOf(file *methodfile.File, f *function) (*methodfile.Rule, bool) {
	if file == nil {
		return nil, false
	}
	return file.Lookup(f.normal)
}

// unused returns the entries that match no function of the build. Entries with a signature can be for
// other languages, unless a function of the build has their name.
func unused(all []*found, file *methodfile.File, used map[int]bool, others []string) []string {
	signatures := map[string]string{} // by name
	for _, k := range all {
		for _, s := range k.sources {
			for _, f := range s.functions {
				signatures[f.normal.Full()] = f.normal.Signature
			}
		}
	}
	names := slices.Sorted(maps.Keys(signatures))
	var rules []*methodfile.Rule
	for rule := range file.All() {
		if _, here := signatures[rule.Unsigned()]; !used[rule.Index] && (here || !rule.Signed()) {
			rules = append(rules, rule)
		}
	}
	slices.SortFunc(rules, func(a, b *methodfile.Rule) int { return a.Index - b.Index })
	var notes []string
	for _, rule := range rules {
		if rule.Signed() {
			notes = append(notes, fmt.Sprintf("%s fits no function of this build: its signature is %s", rule.Reason, cmp.Or(signatures[rule.Unsigned()], "too long for that")))
			continue
		}
		note := fmt.Sprintf("%s fits no function of this build", rule.Reason)
		name, match := rule.Names()
		if i := slices.IndexFunc(others, func(path string) bool { return strings.HasPrefix(name+match, path+".") }); i >= 0 {
			note += ": " + others[i] + " is of another module, whose files the go command does not replace: run go mod vendor before"
		} else if match == "" {
			if hint := configfile.DidYouMean(name, names); strings.HasPrefix(hint, "did you mean") {
				note += ": " + hint
			}
		}
		notes = append(notes, note)
	}
	return notes
}
