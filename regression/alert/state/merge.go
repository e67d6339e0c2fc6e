package state

import (
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Evaluation is what one evaluation found.
type Evaluation struct {
	At time.Time
	// Raised are the alerts, Silenced those of them that nobody is to be notified.
	Raised, Silenced []alert.Alert
	// Gone says why an open alert that was not raised again has gone away. Alerts
	// that the evaluation could not judge, because they are of another service or of too
	// few records, have not.
	Gone func(a *alert.Alert) (why string, gone bool)
}

// Merge takes in what an evaluation found.
func (s *State) Merge(l Evaluation) {
	found := map[string]bool{}
	raise := func(alerts []alert.Alert, silenced bool) {
		for i := range alerts {
			if a := &alerts[i]; !found[a.ID] { // an evaluation says one thing of an alert
				s.raise(a, silenced, l.At)
				found[a.ID] = true
			}
		}
	}
	raise(l.Raised, false)
	raise(l.Silenced, true)
	for i := range s.Open {
		o := &s.Open[i]
		switch {
		case o.Resolved || found[o.Alert.ID]:
		case l.At.Sub(o.Seen) >= forgetAfter:
			s.resolve(i, "not looked at for 30 days", l.At)
		default:
			if why, gone := l.Gone(&o.Alert); gone {
				s.resolve(i, why, l.At)
			}
		}
	}
	s.sweep(l.At)
}

// outdated is what a sink knows of an alert that got worse since.
const outdated = alert.Status("outdated")

var ranks = []alert.Severity{alert.Info, alert.Warning, alert.Critical}

func (s *State) raise(a *alert.Alert, silenced bool, now time.Time) {
	i := s.find(a.ID)
	if i < 0 {
		s.Open = append(s.Open, Open{Alert: *a, Raised: now, Seen: now, Silenced: silenced, Sent: map[string]alert.Status{}})
		return
	}
	if o := &s.Open[i]; o.Resolved { // it comes back: who knows of its end is notified again
		*o = Open{Alert: *a, Raised: now, Seen: now, Silenced: silenced, Sent: o.Sent}
		return
	}
	o := &s.Open[i]
	before := o.Alert
	o.Alert, o.Seen, o.Silenced = *a, now, silenced
	// The Alertmanager knows an alert by its labels, so these stay. One that got
	// worse is notified again; one that got milder is not worth a word.
	o.Alert.Owner, o.Alert.FirstSeen = before.Owner, before.FirstSeen
	o.Alert.BaseVersion, o.Alert.HeadVersion = before.BaseVersion, before.HeadVersion
	if slices.Index(ranks, a.Severity) > slices.Index(ranks, before.Severity) {
		for sink, status := range o.Sent {
			if status == alert.Firing {
				o.Sent[sink] = outdated
			}
		}
	} else {
		o.Alert.Severity = before.Severity
	}
}

// RaisedAt is when an alert was raised that is found now.
func (s *State) RaisedAt(id string, now time.Time) time.Time {
	if i := s.find(id); i >= 0 && !s.Open[i].Resolved {
		return s.Open[i].Raised
	}
	return now
}

func (s *State) resolve(i int, why string, now time.Time) {
	o := &s.Open[i]
	o.Resolved, o.Seen, o.Alert.Resolution = true, now, why
}

// sweep removes what nobody has to be notified any more, and what there is no room for.
func (s *State) sweep(now time.Time) {
	s.Open = slices.DeleteFunc(s.Open, func(o Open) bool { return o.done(now) })
	if extra := len(s.Open) - MaxOpen; extra > 0 {
		slices.SortStableFunc(s.Open, func(a, b Open) int { return a.Seen.Compare(b.Seen) })
		s.Open = slices.Delete(s.Open, 0, extra)
		s.Dropped += int64(extra)
	}
}

func (o *Open) done(now time.Time) bool {
	if !o.Resolved {
		return false
	}
	for _, status := range o.Sent {
		if status != alert.Resolved {
			return now.Sub(o.Seen) >= forgetAfter
		}
	}
	return true
}

// Pending are the alerts that a sink has to be notified, by what it is to be sent. A
// sink that refreshes is notified of firing ones every time. wanted says whether the
// alert goes to the sink at all.
func (s *State) Pending(sink string, refreshes bool, wanted func(*alert.Alert) bool) map[alert.Status][]alert.Alert {
	out := map[alert.Status][]alert.Alert{}
	for i := range s.Open {
		o := &s.Open[i]
		told, a := o.Sent[sink], o.Alert
		a.RaisedAt = o.Raised
		switch o.status() {
		case alert.Firing:
			if !o.Silenced && wanted(&o.Alert) && (refreshes || told != alert.Firing) {
				out[alert.Firing] = append(out[alert.Firing], a)
			}
		case alert.Resolved:
			if told == alert.Firing || told == outdated { // wherever it went, there it is taken back
				out[alert.Resolved] = append(out[alert.Resolved], a)
			}
		}
	}
	return out
}

// MarkSent notes that a sink took alerts.
func (s *State) MarkSent(sink string, status alert.Status, alerts []alert.Alert, now time.Time) {
	for i := range alerts {
		j := s.find(alerts[i].ID)
		// Another process may have changed it since; then it is notified again.
		if j >= 0 && s.Open[j].status() == status {
			if s.Open[j].Sent == nil {
				s.Open[j].Sent = map[string]alert.Status{}
			}
			s.Open[j].Sent[sink] = status
		}
	}
	s.sweep(now)
}
