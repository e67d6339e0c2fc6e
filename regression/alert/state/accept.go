package state

import (
	"fmt"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Accepted is a slowdown that somebody means: from then on its level is what the
// method is measured by.
type Accepted struct {
	ID               string `json:"id"`
	Kind             string `json:"kind"`
	ServiceNamespace string `json:"service_namespace"`
	Service          string `json:"service"`
	Environment      string `json:"environment"`
	Class            string `json:"class"`
	Method           string `json:"method"`
	Caller           string `json:"caller,omitempty"` // of more calls
	Metric           string `json:"metric"`
	Basis            string `json:"basis"`
	BaseVersion      string `json:"base_version"`
	HeadVersion      string `json:"head_version"`
	// Level is ns per call, of more calls calls per call of the caller. What all methods
	// have in common has none: ChangePercent is what was accepted.
	Level         float64   `json:"level"`
	ChangePercent float64   `json:"change_percent,omitempty"`
	Reason        string    `json:"reason"`
	By            string    `json:"by"`
	At            time.Time `json:"at"`
}

// String says who and why, for people.
func (a *Accepted) String() string {
	by := a.By
	if by == "" {
		by = "somebody"
	}
	return fmt.Sprintf("accepted by %s on %s because %s", by, a.At.UTC().Format(time.DateOnly), a.Reason)
}

// Levels are what was accepted, in words.
func (a *Accepted) Levels() alert.Levels {
	return alert.LevelsOf(a.Kind, a.Metric, 0, a.Level, a.ChangePercent)
}

// MaxReason bounds what people write, in bytes.
const MaxReason = 1024

// Find is the alert of an id or of its beginning, among the open ones.
func (s *State) Find(id string) (*alert.Alert, error) {
	var alerts []alert.Alert
	for i := range s.Open {
		alerts = append(alerts, s.Open[i].Alert)
	}
	return Find(alerts, id)
}

// Find is the one alert whose id begins with id; nil if there is none.
func Find(alerts []alert.Alert, id string) (*alert.Alert, error) {
	var found *alert.Alert
	for i := range alerts {
		a := &alerts[i]
		switch {
		case a.ID == id:
			return a, nil
		case !strings.HasPrefix(a.ID, id):
		case found != nil && found.ID != a.ID:
			return nil, fmt.Errorf("two alerts begin with %q: write more of the id", id)
		default:
			found = a
		}
	}
	return found, nil
}

// Accept makes the level of an alert the new baseline. The alert is resolved.
func (s *State) Accept(a *alert.Alert, by, reason string, now time.Time) (*Accepted, error) {
	if a.Kind == alert.Budget {
		return nil, fmt.Errorf("alert %s is about a budget: raise the budget in its file instead", a.ID)
	}
	if !(a.Head > 0) && !(a.ChangePercent > 0) {
		return nil, fmt.Errorf("alert %s says neither a level nor a change above 0, so nothing would be worse: a file of --silences can keep it quiet", a.ID)
	}
	accepted := Accepted{
		ID: a.ID, Kind: a.Kind, ServiceNamespace: a.ServiceNamespace, Service: a.Service, Environment: a.Environment,
		Class: a.Class, Method: a.Method, Caller: a.Caller, Metric: a.Metric, Basis: a.Basis, BaseVersion: a.BaseVersion, HeadVersion: a.HeadVersion,
		Level: a.Head, ChangePercent: a.ChangePercent, Reason: reason, By: by, At: now.UTC(),
	}
	kept := s.Accepted[:0]
	for _, other := range s.Accepted {
		if !other.replacedBy(a) { // what was said before no longer counts
			kept = append(kept, other)
		}
	}
	s.Accepted = append(kept, accepted)
	if extra := len(s.Accepted) - MaxAccepted; extra > 0 {
		s.Accepted = s.Accepted[extra:]
		s.Dropped += int64(extra)
	}
	if i := s.find(a.ID); i >= 0 {
		s.resolve(i, accepted.String(), now)
	}
	s.sweep(now)
	return &accepted, nil
}

// Withdraw forgets what was accepted under an id and reports whether there was any.
func (s *State) Withdraw(id string) bool {
	kept := s.Accepted[:0]
	for _, a := range s.Accepted {
		if a.ID != id {
			kept = append(kept, a)
		}
	}
	found := len(kept) < len(s.Accepted)
	s.Accepted = kept
	return found
}

// replacedBy reports whether accepting an alert makes an earlier acceptance void. What has
// no level is accepted comparison by comparison.
func (a *Accepted) replacedBy(b *alert.Alert) bool {
	return a.same(b) && a.Basis == b.Basis && (b.Head > 0 || a.ID == b.ID)
}

// same reports whether both are about the same thing, whatever the versions.
func (a *Accepted) same(b *alert.Alert) bool {
	return a.Kind == b.Kind && a.ServiceNamespace == b.ServiceNamespace && a.Service == b.Service && a.Environment == b.Environment &&
		a.Class == b.Class && a.Method == b.Method && a.Metric == b.Metric && a.Caller == b.Caller
}

// Covers is the acceptance that an alert falls under, nil = none.
func (s *State) Covers(a *alert.Alert, thresholdPercent float64) *Accepted {
	for i := range s.Accepted {
		if accepted := &s.Accepted[i]; accepted.same(a) && accepted.holds(a, thresholdPercent) {
			return accepted
		}
	}
	return nil
}

// holds reports whether an alert of the same falls under what was accepted. A method does
// until it is more expensive than the accepted level by more than the threshold, beyond its error:
// the lower end of its interval is above that level too. All methods together have no
// level, so in the same comparison their change is held against the accepted one, and
// any other comparison starts from something else.
func (a *Accepted) holds(b *alert.Alert, thresholdPercent float64) bool {
	if a.Basis != b.Basis {
		return a.ID == b.ID // the same comparison, tested another way
	}
	level, base, head := a.Level, b.Base, b.Head
	if !(level > 0) {
		if a.ID != b.ID {
			return false
		}
		level, base, head = 1+a.ChangePercent/100, 1, 1+b.ChangePercent/100
	}
	return head <= level*(1+thresholdPercent/100) || base*(1+b.Interval[0]/100) <= level
}
