package adaptivesampler

import (
	"math"
	"strings"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// methodKey is a method as a span spells it: by a qualified name, or, with apart
// set, by class and method.
type methodKey struct {
	function, class, signature string
	apart                      bool
}

func (k methodKey) parse() methodspan.Function {
	f := methodspan.Function{Class: k.class, Method: k.function}
	if !k.apart {
		f = methodspan.ParseFunction(k.function)
	}
	if k.signature != "" {
		f.Signature = k.signature
	}
	return f
}

func (k methodKey) clone() methodKey {
	return methodKey{strings.Clone(k.function), strings.Clone(k.class), strings.Clone(k.signature), k.apart}
}

func (k methodKey) len() int { return len(k.function) + len(k.class) + len(k.signature) }

// rules are one state of the method file.
type rules struct {
	file      *methodfile.File
	decisions map[*methodfile.Rule]*decision
	otherwise *decision // for methods that no entry matches
}

// compile prepares what holds for the methods of each entry as long as no
// strategy says otherwise.
func compile(file *methodfile.File, prepare *preparer) *rules {
	r := &rules{
		file:      file,
		decisions: make(map[*methodfile.Rule]*decision, file.Len()),
		otherwise: prepare.fixed(&file.Default),
	}
	for rule := range file.All() {
		r.decisions[rule] = prepare.fixed(rule)
	}
	return r
}

// withoutFile gives every method the default rate.
func withoutFile(prepare *preparer) *rules {
	return compile(&methodfile.File{Default: methodfile.Rule{Index: -1, Max: 1, CPURate: math.NaN()}}, prepare)
}

// find returns the entry of a method, nil if there is none, and what it decides.
func (r *rules) find(f methodspan.Function) (*methodfile.Rule, *decision) {
	if rule, ok := r.file.Lookup(f); ok {
		return rule, r.decisions[rule]
	}
	return nil, r.otherwise
}

// bounds returns the bounds of a method's rule.
func (r *rules) bounds(rule *methodfile.Rule) *methodfile.Rule {
	if rule != nil {
		return rule
	}
	return &r.file.Default
}
