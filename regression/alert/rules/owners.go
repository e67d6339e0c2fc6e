// Package rules reads files in which people configure alerts: the owners of classes, the sinks of an owner, silences
// and thresholds.
//
// Its invariant: a faulty entry is skipped with a warning that names it, and the rest of the file is used. If several
// owners match, the most specific wins, whatever the order of the file.
//
// It does not read the files itself (package configfile does) and sends nothing.
package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
	"github.com/corehour/corehour/regression/alert"
)

// Scope selects alerts and methods; an empty field matches any value.
type Scope struct {
	Namespace, Service, Environment string
	// Class is a prefix: shop/tax selects shop/tax, shop/tax.Table and
	// shop/tax/vat, but not shop/taxi.
	Class string
}

// Matches reports whether the scope contains a class of a service.
func (s Scope) Matches(namespace, service, environment, class string) bool {
	return (s.Namespace == "" || s.Namespace == namespace) && (s.Service == "" || s.Service == service) &&
		(s.Environment == "" || s.Environment == environment) && HasClassPrefix(class, s.Class)
}

// HasClassPrefix reports whether a class equals prefix or lies below it. A prefix that ends with a separator matches
// only classes below it.
func HasClassPrefix(class, prefix string) bool {
	rest, ok := strings.CutPrefix(class, prefix)
	return ok && (rest == "" || prefix == "" || strings.ContainsRune("/.$:", rune(rest[0])) || strings.ContainsRune("/.$:", rune(prefix[len(prefix)-1])))
}

// Owner is the owner of the classes of a scope.
type Owner struct {
	Scope
	Owner string
}

// Route is a sink for the alerts of an owner.
type Route struct {
	Owner string
	Sink  string // webhook, slack or alertmanager
	// URL and Headers are the sources of the address and of the headers: env:NAME or file:PATH.
	URL     string
	Headers string
}

// Owners is a file of owners. A nil *Owners has no owners.
type Owners struct {
	owners []Owner // most specific first
	Routes []Route
}

// MaxRoutes is the maximum number of sinks in a file.
const MaxRoutes = 200

// ParseOwners parses the content of the file.
func ParseOwners(data []byte) (*Owners, []configfile.Warning, error) {
	o := &Owners{}
	seen := map[Scope]bool{}
	warnings, err := rulefile.Parse(data,
		rulefile.List{Name: "owners", Fields: []string{"namespace", "service", "environment", "class", "owner"}, Read: func(e *rulefile.Entry) {
			owner := Owner{scopeOf(e), e.Required("owner")}
			if !e.Faulty() && owner.Scope == (Scope{}) {
				e.Fault("", "must name at least one of namespace, service, environment and class", "none", "")
			}
			if !e.Faulty() && seen[owner.Scope] {
				e.Fault("", "must be the only entry for its scope", "another before it", "remove one")
			}
			if !e.Faulty() {
				seen[owner.Scope] = true
				o.owners = append(o.owners, owner)
			}
		}},
		rulefile.List{Name: "routes", Fields: []string{"owner", "sink", "url", "headers"}, Read: func(e *rulefile.Entry) {
			r := Route{e.Required("owner"), "", e.Required("url"), e.Text("headers")}
			if e.Required("sink") != "" {
				r.Sink = e.Choice("sink", "webhook", "slack", "alertmanager")
			}
			if !e.Faulty() && len(o.Routes) == MaxRoutes {
				e.Fault("", "must be at most 200 routes", "more", "")
			}
			if !e.Faulty() && slices.ContainsFunc(o.Routes, func(x Route) bool { return x.Owner == r.Owner && x.Sink == r.Sink }) {
				e.Fault("", "must be the only route of its owner to a sink of this kind", "another before it", "")
			}
			for _, field := range []string{"url", "headers"} {
				// The value found can be the secret itself, so it is not shown.
				if source := e.Text(field); source != "" && !strings.HasPrefix(source, "env:") && !strings.HasPrefix(source, "file:") {
					e.Fault(field, "must be env:NAME or file:PATH", "something else", "secrets do not belong in this file")
				}
			}
			if !e.Faulty() {
				o.Routes = append(o.Routes, r)
			}
		}})
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(o.owners, func(a, b Owner) int { return moreSpecific(a.Scope, b.Scope) })
	return o, warnings, nil
}

func scopeOf(e *rulefile.Entry) Scope {
	return Scope{Namespace: e.Text("namespace"), Service: e.Text("service"), Environment: e.Text("environment"), Class: e.Text("class")}
}

// moreSpecific orders scopes: a longer class before a shorter one, then scopes that set the service, the
// environment, the namespace.
func moreSpecific(a, b Scope) int {
	named := func(s string) int { return min(1, len(s)) }
	return cmp.Or(cmp.Compare(len(b.Class), len(a.Class)), cmp.Compare(named(b.Service), named(a.Service)),
		cmp.Compare(named(b.Environment), named(a.Environment)), cmp.Compare(named(b.Namespace), named(a.Namespace)))
}

// Of returns the owner of a class of a service; empty without one.
func (o *Owners) Of(namespace, service, environment, class string) string {
	if o == nil {
		return ""
	}
	for _, owner := range o.owners {
		if owner.Matches(namespace, service, environment, class) {
			return owner.Owner
		}
	}
	return ""
}

// Own sets the owner of the alert if it has none.
func (o *Owners) Own(a *alert.Alert) {
	if a.Owner == "" {
		a.Owner = o.Of(a.ServiceNamespace, a.Service, a.Environment, a.Class)
	}
}
