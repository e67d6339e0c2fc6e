package adaptivesampler

import (
	"cmp"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// methodKey is the name of a method as written in a span, with its signature if that is an attribute.
type methodKey struct {
	methodspan.Identity
	signature string
}

// keyOf returns the method of a span.
func keyOf(m *measurement, span ptrace.Span, scope string) methodKey {
	id, _ := m.Identity(span, scope)
	return methodKey{id, m.Text(methodspan.FieldSignature)}
}

// qualified returns the key of a fully qualified name.
func qualified(name string) methodKey { return methodKey{Identity: methodspan.Identity{Class: name}} }

func (k methodKey) parse() methodspan.Function {
	f := k.Function()
	f.Signature = cmp.Or(k.signature, f.Signature)
	return f
}

func (k methodKey) clone() methodKey {
	return methodKey{methodspan.Identity{Class: strings.Clone(k.Class), Method: strings.Clone(k.Method)}, strings.Clone(k.signature)}
}

func (k methodKey) len() int { return len(k.Class) + len(k.Method) + len(k.signature) }

// name returns the qualified name, or only the method name if the class is separate.
func (k methodKey) name() string { return cmp.Or(k.Method, k.Class) }

// rules is one version of the method file, compiled.
type rules struct {
	file      *methodfile.File
	decisions map[*methodfile.Rule]*decision
	otherwise *decision // for methods that no entry matches
}

// compile prepares the decision of each entry. It holds until a strategy decides otherwise.
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

// withoutFile returns rules that give every method the default rate.
func withoutFile(prepare *preparer) *rules {
	return compile(&methodfile.File{Default: methodfile.Rule{Index: -1, Max: 1, CPURate: math.NaN()}}, prepare)
}

// find returns the entry of a method and its decision. Without a matching entry it returns nil and the decision
// for other methods.
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
