package methodfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/sdk/internal/match"
)

// File is what was read. Faults name what was left out.
type File struct {
	Strict bool
	Faults []string

	defaults Settings
	tiers    map[string]Settings
	exact    map[string]*entry // by class.method
	classes  map[string]*entry // by class, for all its methods
	patterns match.Patterns[*entry]
}

type entry struct {
	index    int
	settings Settings
	used     bool
}

func newFile() *File {
	return &File{tiers: map[string]Settings{}, exact: map[string]*entry{}, classes: map[string]*entry{}}
}

func (f *File) addMethod(class, method string, e *entry) {
	if method == "*" {
		f.put(f.classes, class, "all methods of "+class, e)
	} else {
		f.put(f.exact, class+"."+method, class+"."+method, e)
	}
}

func (f *File) addMatch(text string, e *entry) {
	if !match.IsPattern(text) {
		f.put(f.exact, text, text, e)
	} else if earlier, replaced := f.patterns.Add(text, e); replaced {
		f.overruled(earlier, e, text)
	}
}

func (f *File) put(into map[string]*entry, key, what string, e *entry) {
	if other, ok := into[key]; ok {
		f.overruled(other, e, what)
	}
	into[key] = e
}

func (f *File) overruled(earlier, later *entry, what string) {
	f.Faults = append(f.Faults, fmt.Sprintf("methods[%d] overrules methods[%d]: both are for %q", later.index, earlier.index, what))
}

// Lookup returns the settings of a method by its normal name, class.method, and
// whether an entry speaks of it or the defaults alone.
func (f *File) Lookup(name string) (s Settings, entered bool) {
	if e := f.find(name); e != nil {
		e.used = true
		return e.settings, true
	}
	return f.defaults, false
}

func (f *File) find(name string) *entry {
	if e, ok := f.exact[name]; ok {
		return e
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		if e, ok := f.classes[name[:dot]]; ok {
			return e
		}
	}
	e, _ := f.patterns.Find(name)
	return e
}

// Unused lists the entries that no Lookup has met, in the order of the file.
func (f *File) Unused() []string {
	type unused struct {
		index int
		name  string
	}
	var found []unused
	add := func(name string, e *entry) {
		if !e.used {
			found = append(found, unused{e.index, name})
		}
	}
	for name, e := range f.exact {
		add(name, e)
	}
	for class, e := range f.classes {
		add(class+".*", e)
	}
	f.patterns.Each(add)
	slices.SortFunc(found, func(a, b unused) int { return a.index - b.index })
	lines := make([]string, len(found))
	for i, u := range found {
		lines[i] = fmt.Sprintf("methods[%d] (%s)", u.index, u.name)
	}
	return lines
}
