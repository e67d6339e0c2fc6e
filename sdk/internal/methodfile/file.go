package methodfile

import (
	"fmt"
	"slices"
	"strings"
)

// File is what was read. Faults name what was left out.
type File struct {
	Strict bool
	Faults []string

	defaults Settings
	tiers    map[string]Settings
	exact    map[string]*entry // by class.method
	classes  map[string]*entry // by class, for all its methods
	patterns []*pattern        // by specificity, of equals the later first
	byText   map[string]*pattern
}

type entry struct {
	index    int
	settings Settings
	used     bool
}

type pattern struct {
	text   string
	prefix int // length of what comes before the first wildcard
	*entry
}

func newFile() *File {
	return &File{tiers: map[string]Settings{}, exact: map[string]*entry{}, classes: map[string]*entry{}, byText: map[string]*pattern{}}
}

// Defaults are the settings of methods without an entry.
func (f *File) Defaults() Settings { return f.defaults }

func (f *File) addMethod(class, method string, e *entry) {
	if method == "*" {
		f.put(f.classes, class, "all methods of "+class, e)
	} else {
		f.put(f.exact, class+"."+method, class+"."+method, e)
	}
}

func (f *File) addMatch(text string, e *entry) {
	wild := strings.IndexByte(text, '*')
	if wild < 0 {
		f.put(f.exact, text, text, e)
		return
	}
	if other, ok := f.byText[text]; ok {
		f.overruled(other.entry, e, text)
		other.entry = e
		return
	}
	f.byText[text] = &pattern{text: text, prefix: wild, entry: e}
	f.patterns = append(f.patterns, f.byText[text])
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

func (f *File) sort() {
	slices.SortStableFunc(f.patterns, func(a, b *pattern) int {
		if a.prefix != b.prefix {
			return b.prefix - a.prefix
		}
		return b.index - a.index
	})
}

// Lookup returns the settings of a method by its normal name, class.method.
func (f *File) Lookup(name string) Settings {
	if e := f.find(name); e != nil {
		e.used = true
		return e.settings
	}
	return f.defaults
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
	for _, p := range f.patterns {
		if matches(p.text, name) {
			return p.entry
		}
	}
	return nil
}

// matches tells whether a name fits a pattern, in which * is any text.
func matches(pattern, name string) bool {
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
	for _, p := range f.patterns {
		add(p.text, p.entry)
	}
	slices.SortFunc(found, func(a, b unused) int { return a.index - b.index })
	lines := make([]string, len(found))
	for i, u := range found {
		lines[i] = fmt.Sprintf("methods[%d] (%s)", u.index, u.name)
	}
	return lines
}
