package methodfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/sdk/internal/prefix"
)

// File is what was read. Faults name what was left out.
type File struct {
	Faults []string

	defaults Settings
	tiers    map[string]Settings
	exact    map[string]*entry     // by class.method
	signed   map[string]*overloads // by class.method, those with a signature
	classes  map[string]*entry     // by class, for all its methods
	prefixes prefix.Table[*entry]
}

type entry struct {
	index    int
	settings Settings
	used     bool
}

// overloads are the entries with a signature for methods of one name.
type overloads struct {
	bySignature map[string]*entry
	named       bool // a method has the name, with whatever signature
}

func newFile() *File {
	return &File{tiers: map[string]Settings{}, exact: map[string]*entry{}, signed: map[string]*overloads{}, classes: map[string]*entry{}}
}

func fullName(class, method string) string {
	if class == "" {
		return method
	}
	return class + "." + method
}

func (f *File) addMethod(class, method string, e *entry) {
	name := fullName(class, method)
	into, key := f.exact, name
	if method == "*" {
		into, key = f.classes, class
	}
	if earlier, ok := into[key]; ok {
		f.overruled(earlier, e, name)
	}
	into[key] = e
}

func (f *File) addSigned(name, signature string, e *entry) {
	if f.signed[name] == nil {
		f.signed[name] = &overloads{bySignature: map[string]*entry{}}
	}
	into := f.signed[name].bySignature
	if earlier, ok := into[signature]; ok {
		f.overruled(earlier, e, name+signature)
	}
	into[signature] = e
}

func (f *File) addPrefix(text string, e *entry) {
	if earlier, ok := f.prefixes.Add(text, e); ok {
		f.overruled(earlier, e, text+"*")
	}
}

func (f *File) overruled(earlier, later *entry, what string) {
	f.Faults = append(f.Faults, fmt.Sprintf("methods[%d] overrules methods[%d]: both are for %q", later.index, earlier.index, what))
}

// Lookup returns the settings of a method by its normal name, class.method, and its signature if
// that is known, and whether an entry matches it or the defaults alone.
func (f *File) Lookup(name, signature string) (s Settings, entered bool) {
	var e *entry
	var ok bool
	if o := f.signed[name]; o != nil {
		o.named = true
		e, ok = o.bySignature[signature]
	}
	if !ok {
		e, ok = f.exact[name]
	}
	if !ok {
		class := ""
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			class = name[:dot]
		}
		e, ok = f.classes[class]
	}
	if !ok {
		e, ok = f.prefixes.Find(name)
	}
	if !ok {
		return f.defaults, false
	}
	e.used = true
	return e.settings, true
}

// Unused lists the entries that no Lookup has met, in the order of the file. One with a signature may
// be of another language unless a method has its name.
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
	for name, o := range f.signed {
		for signature, e := range o.bySignature {
			if o.named {
				add(name+signature, e)
			}
		}
	}
	for class, e := range f.classes {
		add(class+".*", e)
	}
	f.prefixes.Each(func(text string, e *entry) { add(text+"*", e) })
	slices.SortFunc(found, func(a, b unused) int { return a.index - b.index })
	lines := make([]string, len(found))
	for i, u := range found {
		lines[i] = fmt.Sprintf("methods[%d] (%s)", u.index, u.name)
	}
	return lines
}
