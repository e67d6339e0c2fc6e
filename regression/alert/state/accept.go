package state

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Acceptance is an accepted regression. Its level is the new baseline of the method.
type Acceptance struct {
	ID               string `json:"id"`
	Kind             string `json:"kind"`
	ServiceNamespace string `json:"service_namespace"`
	Service          string `json:"service"`
	Environment      string `json:"environment"`
	Class            string `json:"class"`
	Method           string `json:"method"`
	Caller           string `json:"caller,omitempty"` // set only for MoreCalls
	Metric           string `json:"metric"`
	Basis            string `json:"basis"`
	BaseVersion      string `json:"base_version"`
	HeadVersion      string `json:"head_version"`
	// Level is in ns per call, or in calls per call of the caller for MoreCalls. A whole service has no level: for
	// it ChangePercent is the accepted change.
	Level         float64   `json:"level"`
	ChangePercent float64   `json:"change_percent,omitempty"`
	Reason        string    `json:"reason"`
	By            string    `json:"by"`
	At            time.Time `json:"at"`
}

// String returns who accepted it and why, for people.
func (a *Acceptance) String() string {
	by := a.By
	if by == "" {
		by = "somebody"
	}
	return fmt.Sprintf("accepted by %s on %s because %s", by, a.At.UTC().Format(time.DateOnly), a.Reason)
}

// Levels returns the accepted levels in words.
func (a *Acceptance) Levels() alert.Levels {
	return alert.LevelsOf(a.Kind, a.Metric, 0, a.Level, a.ChangePercent)
}

// MaxReason is the maximum length of a reason, in bytes.
const MaxReason = 1024

// Find returns the open alert whose id begins with id.
func (s *State) Find(id string) (*alert.Alert, error) {
	var alerts []alert.Alert
	for i := range s.Open {
		alerts = append(alerts, s.Open[i].Alert)
	}
	return Find(alerts, id)
}

// Find returns the only alert whose id begins with id; nil if there is none.
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

// Accept makes the level of an alert the new baseline and resolves the alert.
func (s *State) Accept(a *alert.Alert, by, reason string, now time.Time) (*Acceptance, error) {
	if a.Kind == alert.Budget {
		return nil, fmt.Errorf("alert %s is about a budget: raise the budget in its file instead", a.ID)
	}
	if !(a.Head > 0) && !(a.ChangePercent > 0) {
		return nil, fmt.Errorf("alert %s says neither a level nor a change above 0, so nothing would be worse: a file of --silences can keep it quiet", a.ID)
	}
	accepted := Acceptance{
		ID: a.ID, Kind: a.Kind, ServiceNamespace: a.ServiceNamespace, Service: a.Service, Environment: a.Environment,
		Class: a.Class, Method: a.Method, Caller: a.Caller, Metric: a.Metric, Basis: a.Basis, BaseVersion: a.BaseVersion, HeadVersion: a.HeadVersion,
		Level: a.Head, ChangePercent: a.ChangePercent, Reason: reason, By: by, At: now.UTC(),
	}
	s.Accepted = slices.DeleteFunc(s.Accepted, func(earlier Acceptance) bool { return earlier.replacedBy(a) })
	s.Accepted = append(s.Accepted, accepted)
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

// Withdraw removes the acceptance with an id and reports whether there was one.
func (s *State) Withdraw(id string) bool {
	before := len(s.Accepted)
	s.Accepted = slices.DeleteFunc(s.Accepted, func(a Acceptance) bool { return a.ID == id })
	return len(s.Accepted) < before
}

// replacedBy reports whether accepting alert b replaces this acceptance. An alert without a level only replaces an
// acceptance with the same id.
func (a *Acceptance) replacedBy(b *alert.Alert) bool {
	return a.concerns(b) && a.Basis == b.Basis && (b.Head > 0 || a.ID == b.ID)
}

// concerns reports whether the acceptance and the alert have the same subject, whatever the versions.
func (a *Acceptance) concerns(b *alert.Alert) bool {
	return a.Kind == b.Kind && a.ServiceNamespace == b.ServiceNamespace && a.Service == b.Service && a.Environment == b.Environment &&
		a.Class == b.Class && a.Method == b.Method && a.Metric == b.Metric && a.Caller == b.Caller
}

// Covers returns the acceptance that covers an alert, nil without one.
func (s *State) Covers(a *alert.Alert, thresholdPercent float64) *Acceptance {
	for i := range s.Accepted {
		if accepted := &s.Accepted[i]; accepted.concerns(a) && accepted.tolerates(a, thresholdPercent) {
			return accepted
		}
	}
	return nil
}

// tolerates reports whether an acceptance covers an alert with the same subject. It covers a method until the method
// exceeds the accepted level by more than the threshold and the lower end of its interval exceeds the level too. A
// whole service has no level. So its change is compared with the accepted change, and only within the same
// comparison, because other comparisons have another base.
func (a *Acceptance) tolerates(b *alert.Alert, thresholdPercent float64) bool {
	if a.Basis != b.Basis {
		return a.ID == b.ID // the same comparison, tested on another basis
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
