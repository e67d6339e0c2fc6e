package state

import (
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// Resolver returns why an open alert that was not raised again is resolved. It returns false for alerts that the
// evaluation could not judge: alerts of another service or with too few records.
type Resolver func(a *alert.Alert) (why string, resolved bool)

// Merge updates the state with the alerts that an evaluation at now raised, and with the muted ones. Alerts have
// different ids.
func (s *State) Merge(now time.Time, raised, silenced []alert.Alert, resolved Resolver) {
	found := map[string]bool{}
	for i := range raised {
		s.raise(&raised[i], false, now)
		found[raised[i].ID] = true
	}
	for i := range silenced {
		s.raise(&silenced[i], true, now)
		found[silenced[i].ID] = true
	}
	for i := range s.Open {
		o := &s.Open[i]
		switch {
		case o.Resolved || found[o.Alert.ID]:
		case now.Sub(o.Seen) >= forgetAfter:
			s.resolve(i, "not looked at for 30 days", now)
		default:
			if why, ok := resolved(&o.Alert); ok {
				s.resolve(i, why, now)
			}
		}
	}
	s.sweep(now)
}

// outdated is the status of a sink that was sent an alert before its severity rose.
const outdated = alert.Status("outdated")

var ranks = []alert.Severity{alert.Info, alert.Warning, alert.Critical}

func (s *State) raise(a *alert.Alert, silenced bool, now time.Time) {
	i := s.find(a.ID)
	if i < 0 {
		s.Open = append(s.Open, OpenAlert{Alert: *a, Raised: now, Seen: now, Silenced: silenced, Sent: map[string]alert.Status{}})
		return
	}
	if o := &s.Open[i]; o.Resolved { // the alert returns: sinks that were sent its end are notified again
		*o = OpenAlert{Alert: *a, Raised: now, Seen: now, Silenced: silenced, Sent: o.Sent}
		return
	}
	o := &s.Open[i]
	before := o.Alert
	o.Alert, o.Seen, o.Silenced = *a, now, silenced
	// The Alertmanager identifies an alert by its labels, so they must not change. A higher severity is sent again;
	// a lower one is not.
	o.Alert.Owner, o.Alert.FirstSeen = before.Owner, before.FirstSeen
	o.Alert.BaseVersion, o.Alert.HeadVersion = before.BaseVersion, before.HeadVersion
	if slices.Index(ranks, a.Severity) > slices.Index(ranks, before.Severity) {
		for sink, status := range o.Sent {
			if status != alert.Firing {
				continue
			}
			if o.Sent[sink] = outdated; !slices.Contains(o.Earlier, before.Severity) {
				o.Earlier = append(o.Earlier, before.Severity)
			}
		}
	} else {
		o.Alert.Severity = before.Severity
	}
}

// RaisedAt returns the time at which an alert found at now was raised.
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

// sweep removes alerts that no sink needs any more, and the oldest ones above MaxOpen.
func (s *State) sweep(now time.Time) {
	s.Open = slices.DeleteFunc(s.Open, func(o OpenAlert) bool { return o.done(now) })
	if extra := len(s.Open) - MaxOpen; extra > 0 {
		slices.SortStableFunc(s.Open, func(a, b OpenAlert) int { return a.Seen.Compare(b.Seen) })
		s.Open = slices.Delete(s.Open, 0, extra)
		s.Dropped += int64(extra)
	}
}

func (o *OpenAlert) done(now time.Time) bool {
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

// Pending returns the alerts to send to a sink, by status. Sinks with refreshes get firing alerts every time. wanted
// reports whether an alert is routed to the sink.
func (s *State) Pending(sink string, refreshes bool, wanted func(*alert.Alert) bool) map[alert.Status][]alert.Alert {
	out := map[alert.Status][]alert.Alert{}
	for i := range s.Open {
		o := &s.Open[i]
		sent, a := o.Sent[sink], o.Alert
		a.RaisedAt, a.Earlier = o.Raised, o.Earlier
		switch o.status() {
		case alert.Firing:
			if !o.Silenced && wanted(&o.Alert) && (refreshes || sent != alert.Firing) {
				out[alert.Firing] = append(out[alert.Firing], a)
			}
		case alert.Resolved:
			if sent == alert.Firing || sent == outdated { // sinks that were sent the alert are sent its end
				out[alert.Resolved] = append(out[alert.Resolved], a)
			}
		}
	}
	return out
}

// MarkSent records that a sink accepted alerts.
func (s *State) MarkSent(sink string, status alert.Status, alerts []alert.Alert, now time.Time) {
	for i := range alerts {
		j := s.find(alerts[i].ID)
		// Another process can have changed the alert since; then it is sent again.
		if j >= 0 && s.Open[j].status() == status {
			if s.Open[j].Sent == nil {
				s.Open[j].Sent = map[string]alert.Status{}
			}
			s.Open[j].Sent[sink] = status
		}
	}
	s.sweep(now)
}
