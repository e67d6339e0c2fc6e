package rules

import (
	"strings"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
	"github.com/corehour/corehour/regression/alert"
)

// Silence mutes matching alerts until a time.
type Silence struct {
	Scope
	// Method is a prefix of `class.method`.
	Method string
	Kind   string
	Owner  string
	Until  time.Time // exclusive
	Reason string
}

// Silences is a file of silences. A nil *Silences mutes nothing.
type Silences struct {
	silences []Silence
}

// ParseSilences parses the content of the file.
func ParseSilences(data []byte) (*Silences, []configfile.Warning, error) {
	out := &Silences{}
	warnings, err := rulefile.Parse(data, rulefile.List{
		Name: "silences", Fields: []string{"namespace", "service", "environment", "class", "method", "kind", "owner", "until", "reason"},
		Read: func(e *rulefile.Entry) {
			s := Silence{Scope: scopeOf(e), Method: e.Text("method"), Kind: e.Text("kind"), Owner: e.Text("owner"), Reason: e.Required("reason")}
			if !e.Has("until") {
				e.Fault("until", "must be set", "nothing", "a silence without an end is forgotten: accept what is meant to stay")
			} else {
				s.Until = e.Time("until")
			}
			if !e.Faulty() && s.Scope == (Scope{}) && s.Method == "" && s.Kind == "" && s.Owner == "" {
				e.Fault("", "must select something", "nothing", "name a namespace, service, environment, class, method, kind or owner")
			}
			if !e.Faulty() {
				out.silences = append(out.silences, s)
			}
		}})
	if err != nil {
		return nil, nil, err
	}
	return out, warnings, nil
}

// Of returns the silence that matches an alert and ends last; nil without one.
func (s *Silences) Of(a *alert.Alert, now time.Time) *Silence {
	if s == nil {
		return nil
	}
	var found *Silence
	for i := range s.silences {
		x := &s.silences[i]
		if now.Before(x.Until) && x.selects(a) && (found == nil || x.Until.After(found.Until)) {
			found = x
		}
	}
	return found
}

func (s *Silence) selects(a *alert.Alert) bool {
	return s.Matches(a.ServiceNamespace, a.Service, a.Environment, a.Class) && strings.HasPrefix(a.Name(), s.Method) &&
		(s.Kind == "" || s.Kind == a.Kind) && (s.Owner == "" || s.Owner == a.Owner)
}
