package methodfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/sdk/internal/prefix"
)

// File is a parsed method file.
type File struct {
	Faults []string // of parts that were left out

	defaults Settings
	tiers    map[string]Settings
	exact    map[string]*entry     // by class.method
	signed   map[string]*overloads // by class.method, entries with a signature
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
	named       bool // Lookup was called for a method of the name, with any signature
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
		f.warnReplaced(earlier, e, name)
	}
	into[key] = e
}

func (f *File) addSigned(name, signature string, e *entry) {
	if f.signed[name] == nil {
		f.signed[name] = &overloads{bySignature: map[string]*entry{}}
	}
	into := f.signed[name].bySignature
	if earlier, ok := into[signature]; ok {
		f.warnReplaced(earlier, e, name+signature)
	}
	into[signature] = e
}

func (f *File) addPrefix(text string, e *entry) {
	if earlier, ok := f.prefixes.Add(text, e); ok {
		f.warnReplaced(earlier, e, text+"*")
	}
}

// warnReplaced adds the fault of an entry that a later one for the same methods replaces.
func (f *File) warnReplaced(earlier, later *entry, methods string) {
	f.Faults = append(f.Faults, fmt.Sprintf(
		"methods[%d]: must be the only entry for its methods, found methods[%d] for %s too: the later, methods[%[2]d], is used: remove one",
		earlier.index, later.index, quote(methods)))
}

// Lookup returns the settings of a method and whether an entry matches it; if none does, they
// are the defaults. name is class.method in its normal form; signature is empty if unknown.
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

// Unused lists the entries that no Lookup has returned, in the order of the file. An entry with
// a signature is listed only if Lookup was called for a method of its name: other methods with
// signatures may be written in another language.
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
