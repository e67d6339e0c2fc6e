// Package delivery brings alerts to the people who should know: it gives each its
// owner, leaves out what was accepted or is silenced, and sends what is new, what
// got worse and what went away to the sinks of the owner.
//
// Its invariant: what a sink did not take stays in the state and is sent at the next
// look, by this process or the next one. So every alert is sent at least once, and
// again only if the process ends between the answer of a sink and its note of it.
//
// It finds nothing itself: an evaluation is given to it.
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

// Target is a sink and whose alerts go there: those of one owner, or, if Owner is
// empty, those of all who have no sink of their own.
type Target struct {
	sink.Sink
	Owner string
}

// Dispatcher delivers. The nil values of its fields mean nobody, nothing and nowhere.
type Dispatcher struct {
	Store    *state.Store
	Owners   *rules.Owners
	Silences *rules.Silences
	Targets  []Target
	// Timeout bounds the deliveries of one evaluation, Grace what is left of them when the
	// process is asked to end.
	Timeout, Grace time.Duration
	Now            func() time.Time

	later map[string]time.Time // sinks that want to be left alone until then
}

// Findings is what one evaluation found. ThresholdPercent is the change that the rule wants,
// by which growth beyond an accepted level is judged too.
type Findings struct {
	Alerts           []alert.Alert
	ThresholdPercent float64
	Gone             func(*alert.Alert) (why string, gone bool)
}

// Accepted is an alert with what was said when it was accepted.
type Accepted struct {
	alert.Alert
	Accepted state.Accepted `json:"accepted"`
}

// Silenced is an alert with why nobody is notified.
type Silenced struct {
	alert.Alert
	Until  time.Time `json:"silenced_until"`
	Reason string    `json:"silenced_because"`
}

// Sorted is what of an evaluation is to be reported.
type Sorted struct {
	Alerts   []alert.Alert `json:"alerts"` // raised
	Accepted []Accepted    `json:"accepted"`
	Silenced []Silenced    `json:"silenced"`
}

// NewSorted returns what has no alert yet.
func NewSorted() Sorted {
	return Sorted{Alerts: []alert.Alert{}, Accepted: []Accepted{}, Silenced: []Silenced{}}
}

// Sort gives alerts their owners and leaves out what nobody is to be notified. It only
// reads the state.
func (d *Dispatcher) Sort(l Findings) (*Sorted, error) {
	s, err := d.Store.Read()
	if err != nil {
		return nil, err
	}
	return d.sort(s, l), nil
}

func (d *Dispatcher) sort(s *state.State, l Findings) *Sorted {
	out := NewSorted()
	seen := map[string]bool{}
	for i := range l.Alerts {
		a := l.Alerts[i]
		if seen[a.ID] {
			continue // of one id the first counts: the evaluation has the most expensive first
		}
		seen[a.ID] = true
		d.Owners.Own(&a)
		a.RaisedAt = s.RaisedAt(a.ID, d.Now().UTC())
		if accepted := s.Covers(&a, l.ThresholdPercent); accepted != nil {
			out.Accepted = append(out.Accepted, Accepted{a, *accepted})
		} else if silence := d.Silences.Of(&a, d.Now()); silence != nil {
			out.Silenced = append(out.Silenced, Silenced{a, silence.Until, silence.Reason})
		} else {
			out.Alerts = append(out.Alerts, a)
		}
	}
	return &out
}

// Handle sorts what an evaluation found, remembers it and sends what is to be sent. An
// error of a sink is a *Undelivered; the alerts count all the same.
func (d *Dispatcher) Handle(ctx context.Context, l Findings) (*Sorted, error) {
	if len(d.Targets) == 0 {
		return d.Sort(l)
	}
	var sorted *Sorted
	err := d.Store.Update(func(s *state.State) error {
		sorted = d.sort(s, l)
		silenced := make([]alert.Alert, len(sorted.Silenced))
		for i := range silenced {
			silenced[i] = sorted.Silenced[i].Alert
		}
		accepted := map[string]string{}
		for i := range sorted.Accepted {
			accepted[sorted.Accepted[i].ID] = sorted.Accepted[i].Accepted.String()
		}
		s.Merge(state.Evaluation{At: d.Now().UTC(), Raised: sorted.Alerts, Silenced: silenced, Gone: func(a *alert.Alert) (string, bool) {
			if why, ok := accepted[a.ID]; ok {
				return why, true
			}
			return l.Gone(a)
		}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sorted, d.Flush(ctx)
}

// Undelivered says that a sink did not take alerts. They are sent later.
type Undelivered struct {
	Sink   string
	Alerts int
	Err    error
}

func (u *Undelivered) Error() string {
	return fmt.Sprintf("%s: %v; %d alerts wait for the next evaluation", u.Sink, u.Err, u.Alerts)
}

func (u *Undelivered) Unwrap() error { return u.Err }

// Flush sends what is waiting, to all sinks side by side, within the timeout. When
// ctx ends, the grace is what is left.
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
	// Deliveries note in d.later who wants to be left alone, so it is read for all
	// targets before the first delivery begins.
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

// goesTo reports whether an alert goes to a sink: to those of its owner, or, if he has
// none, to those of everybody.
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

// send tells one sink everything, message by message, and notes what it took.
func (d *Dispatcher) send(ctx context.Context, t Target, pending map[alert.Status][]alert.Alert, mu *sync.Mutex) error {
	left := len(pending[alert.Firing]) + len(pending[alert.Resolved])
	var refused []error
	for _, status := range []alert.Status{alert.Firing, alert.Resolved} {
		for _, m := range alert.Messages(status, pending[status]) {
			err := sink.Deliver(ctx, t, m)
			if err != nil {
				var f *sink.Failure
				if !errors.As(err, &f) || f.Retry { // the next message would fare no better
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
