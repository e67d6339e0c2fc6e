// Package delivery sends alerts to the people responsible.
//
//  1. Dispatcher.Handle receives the alerts of an evaluation and a state.Resolver for the open ones.
//  2. sort sets the owner of each alert and separates accepted and silenced ones.
//  3. state.State.Merge records the raised, silenced and resolved alerts.
//  4. Flush sends pending alerts and ends to the sinks of their owner, all sinks in parallel.
//
// Dispatcher.Sort does the second step alone, for callers that only read. AppendFile and Remembered write new alerts to
// a file of JSON lines.
//
// Its invariant: an alert that a sink did not accept stays in the state and is sent at the next evaluation, by this
// process or the next one. So every alert is sent at least once. It is sent again only if the process ends between
// the response of the sink and the write of the state.
//
// It evaluates nothing: it receives the result of an evaluation.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/alert/sink"
	"github.com/corehour/corehour/regression/alert/state"
)

// Target is a sink with the owner of the alerts it gets. Without an owner it gets the alerts of all owners without a
// sink.
type Target struct {
	sink.Sink
	Owner string
}

// Dispatcher delivers alerts. Its owners and silences can be nil, and its targets empty.
type Dispatcher struct {
	Store    *state.Store
	Owners   *rules.Owners
	Silences *rules.Silences
	Targets  []Target
	// Timeout limits the deliveries of one evaluation. Grace limits the remaining time once the process is asked
	// to end.
	Timeout, Grace time.Duration
	Now            func() time.Time

	later map[string]time.Time // by sink: time before which nothing is sent (Retry-After)
}

// AcceptedAlert is an alert with its acceptance.
type AcceptedAlert struct {
	alert.Alert
	Acceptance state.Acceptance `json:"accepted"`
}

// SilencedAlert is an alert with the end and the reason of its silence.
type SilencedAlert struct {
	alert.Alert
	Until  time.Time `json:"silenced_until"`
	Reason string    `json:"silenced_because"`
}

// Sorted holds the alerts of an evaluation, split into raised, accepted and silenced ones.
type Sorted struct {
	Alerts   []alert.Alert   `json:"alerts"` // raised
	Accepted []AcceptedAlert `json:"accepted"`
	Silenced []SilencedAlert `json:"silenced"`
}

// NewSorted returns a Sorted with empty lists.
func NewSorted() Sorted {
	return Sorted{Alerts: []alert.Alert{}, Accepted: []AcceptedAlert{}, Silenced: []SilencedAlert{}}
}

// Sort sets the owners of the alerts and separates accepted and silenced ones. An alert stays accepted up to
// thresholdPercent above its accepted level. Sort only reads the state.
func (d *Dispatcher) Sort(alerts []alert.Alert, thresholdPercent float64) (*Sorted, error) {
	s, err := d.Store.Read()
	if err != nil {
		return nil, err
	}
	return d.sort(s, alerts, thresholdPercent), nil
}

func (d *Dispatcher) sort(s *state.State, alerts []alert.Alert, thresholdPercent float64) *Sorted {
	out := NewSorted()
	seen := map[string]bool{}
	for _, a := range alerts {
		if seen[a.ID] {
			continue // of alerts with the same id the first counts; the evaluation sorts the most expensive first
		}
		seen[a.ID] = true
		d.Owners.Own(&a)
		a.RaisedAt = s.RaisedAt(a.ID, d.Now().UTC())
		if accepted := s.Covers(&a, thresholdPercent); accepted != nil {
			out.Accepted = append(out.Accepted, AcceptedAlert{a, *accepted})
		} else if silence := d.Silences.Of(&a, d.Now()); silence != nil {
			out.Silenced = append(out.Silenced, SilencedAlert{a, silence.Until, silence.Reason})
		} else {
			out.Alerts = append(out.Alerts, a)
		}
	}
	return &out
}

// Handle sorts the alerts of an evaluation, updates the state and sends pending alerts. resolved decides on the open
// alerts that the evaluation did not raise. An error of a sink is an *Undelivered; the returned alerts are complete all
// the same.
func (d *Dispatcher) Handle(ctx context.Context, alerts []alert.Alert, thresholdPercent float64, resolved state.Resolver) (*Sorted, error) {
	if len(d.Targets) == 0 {
		return d.Sort(alerts, thresholdPercent)
	}
	var sorted *Sorted
	err := d.Store.Update(func(s *state.State) error {
		sorted = d.sort(s, alerts, thresholdPercent)
		silenced := make([]alert.Alert, len(sorted.Silenced))
		for i := range silenced {
			silenced[i] = sorted.Silenced[i].Alert
		}
		accepted := map[string]string{}
		for i := range sorted.Accepted {
			accepted[sorted.Accepted[i].ID] = sorted.Accepted[i].Acceptance.String()
		}
		s.Merge(d.Now().UTC(), sorted.Alerts, silenced, func(a *alert.Alert) (string, bool) {
			if why, ok := accepted[a.ID]; ok {
				return why, true
			}
			return resolved(a)
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sorted, d.Flush(ctx)
}

// Undelivered is the error for alerts that a sink did not accept. They are sent later.
type Undelivered struct {
	Sink   string
	Alerts int
	Err    error
}

func (u *Undelivered) Error() string {
	return fmt.Sprintf("%s: %v; %d alerts wait for the next evaluation", u.Sink, u.Err, u.Alerts)
}

func (u *Undelivered) Unwrap() error { return u.Err }

// Flush sends pending alerts to all sinks in parallel within the timeout. When ctx ends, the grace period remains.
func (d *Dispatcher) Flush(ctx context.Context) error {
	s, err := d.Store.Read()
	if err != nil || len(d.Targets) == 0 {
		return err
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Timeout)
	defer cancel()
	var grace *time.Timer
	var mu sync.Mutex
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		grace = time.AfterFunc(d.Grace, cancel)
	})
	defer func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		if grace != nil {
			grace.Stop()
		}
	}()
	if d.later == nil {
		d.later = map[string]time.Time{}
	}
	// Deliveries write Retry-After times to d.later, so it is read for all targets before the first delivery begins.
	waiting := make([]map[alert.Status][]alert.Alert, len(d.Targets))
	for i, t := range d.Targets {
		if !d.Now().Before(d.later[t.Name()]) {
			waiting[i] = s.Pending(t.Name(), t.Refreshes(), func(a *alert.Alert) bool { return d.goesTo(a, t) })
		}
	}
	faults := make([]error, len(d.Targets))
	var all sync.WaitGroup
	for i, pending := range waiting {
		if len(pending) > 0 {
			all.Go(func() { faults[i] = d.send(bounded, d.Targets[i], pending, &mu) })
		}
	}
	all.Wait()
	return errors.Join(faults...)
}

// goesTo reports whether an alert is routed to a sink: a sink of its owner, or a sink without owner if its owner
// has none.
func (d *Dispatcher) goesTo(a *alert.Alert, t Target) bool {
	if a.Owner != "" {
		for _, other := range d.Targets {
			if other.Owner == a.Owner {
				return t.Owner == a.Owner
			}
		}
	}
	return t.Owner == ""
}

// send sends all pending messages to one sink and records the accepted ones.
func (d *Dispatcher) send(ctx context.Context, t Target, pending map[alert.Status][]alert.Alert, mu *sync.Mutex) error {
	left := len(pending[alert.Firing]) + len(pending[alert.Resolved])
	var refused []error
	for _, status := range []alert.Status{alert.Firing, alert.Resolved} {
		for _, m := range alert.Messages(status, pending[status]) {
			err := sink.Deliver(ctx, t, m)
			if err != nil {
				var f *sink.Failure
				if !errors.As(err, &f) || f.Retry { // the next message would fail too
					mu.Lock()
					if f != nil && f.After > 0 {
						d.later[t.Name()] = d.Now().Add(f.After)
					}
					mu.Unlock()
					return errors.Join(append(refused, &Undelivered{t.Name(), left, err})...)
				}
				refused = append(refused, &Undelivered{t.Name(), len(m.Alerts), err})
				left -= len(m.Alerts)
				continue
			}
			left -= len(m.Alerts)
			err = d.Store.Update(func(s *state.State) error {
				s.MarkSent(t.Name(), status, m.Alerts, d.Now().UTC())
				return nil
			})
			if err != nil {
				return errors.Join(append(refused, err)...)
			}
		}
	}
	return errors.Join(refused...)
}
