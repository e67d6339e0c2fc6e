package corehour

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corehour/corehour/sdk/internal/methodfile"
)

// policy decides what each method's probe does. Authority, from above: rates that
// a collector serves for the method while they are fresh, what the code says to
// NewMethod, the method's entry in the file, the collector's default, those of the
// file, of Start and of the environment. Off and Blocking in code and file are
// final, and so are the file's bounds of rates.
type policy struct {
	defaults settings
	file     *methodfile.File // nil = none
	strict   bool             // faults of the file are errors of Start
	rates    *rateTable       // nil = none, or no longer fresh
}

// newPolicy reads the method file that w is to follow; nil = there is none.
func newPolicy(c config, w *methodWatch) (policy, error) {
	p := policy{defaults: c.defaults, strict: c.strictMethods}
	if w == nil {
		return p, nil
	}
	file, err := w.first()
	if err != nil && (c.methodFileAsked || c.strictMethods) {
		return p, err
	}
	if err != nil {
		w.fault = err.Error()
		notes.add("COREHOUR_METHODS is left out: %v", err)
		return p, nil
	}
	p.file = file
	return p, nil
}

// settingsFor returns what all sources want for a method. registry.mu is held.
func (p *policy) settingsFor(m *Method) settings {
	s := p.defaults
	own := m.options.wish
	filed, entered, bounds := p.filed(m)
	if !entered {
		filed.apply(&s)
	}
	if p.rates != nil {
		p.rates.fallback.apply(&s)
		if p.rates.fallback.rate != nil {
			s.rate = bounds.hold(s.rate)
		}
	}
	if entered {
		filed.apply(&s)
	}
	own.apply(&s)
	blocking := own.blocking || filed.blocking
	if p.rates != nil {
		if served, ok := p.rates.wishFor(m.normal); ok {
			served.apply(&s)
			s.rate = bounds.hold(s.rate)
			blocking = blocking || served.blocking
		}
	}
	s.noCaller = m.options.noCaller
	s.tail = s.tail && s.mode != Aggregate // there every call is in the sums
	s.stack = s.stack && s.mode != Aggregate && !s.noCaller
	if own.isOff() || filed.isOff() {
		s.mode = Off
	}
	if blocking || m.wallOnly != "" {
		s.cpuRate = 0
	}
	return s
}

// filed returns what the file says of a method, whether by an entry of its own or
// by its defaults, and the bounds it sets.
func (p *policy) filed(m *Method) (w wish, entered bool, b bounds) {
	if p.file == nil {
		return wish{}, false, bounds{}
	}
	s, entered := p.file.Lookup(m.normal)
	w = wish{rate: s.Rate, cpuRate: s.CPURate, blocking: s.Blocking, tail: s.Tail, stack: s.Stack}
	if mode, ok := modeNamed(s.Mode); ok {
		w.mode = &mode
	}
	return w, entered, bounds{s.Min, s.Max}
}

type bounds struct{ min, max *float64 }

func (b bounds) hold(rate float64) float64 {
	if b.min != nil {
		rate = max(rate, *b.min)
	}
	if b.max != nil {
		rate = min(rate, *b.max)
	}
	return rate
}

func (w *wish) isOff() bool { return w.mode != nil && *w.mode == Off }

func (w *wish) apply(s *settings) {
	if w.rate != nil {
		s.rate = *w.rate
		if s.mode == Off { // who asks for a rate wants to be on
			s.mode = Sample
		}
	}
	if w.mode != nil {
		s.mode = *w.mode
	}
	if w.cpuRate != nil {
		s.cpuRate = *w.cpuRate
	}
	if w.tail != nil {
		s.tail = *w.tail
	}
	if w.stack != nil {
		s.stack = *w.stack
	}
}

// strictlyUsed is an error if the policy is strict and the file has entries for methods that are not
// there when Start is called.
func (p *policy) strictlyUsed() error {
	if !p.strict {
		return nil
	}
	return p.unused()
}

// unused names the entries of the file that fit no method. registry.mu is held.
func (p *policy) unused() error {
	if p.file == nil {
		return nil
	}
	unused := p.file.Unused()
	if len(unused) == 0 {
		return nil
	}
	const most = 20
	more := ""
	if len(unused) > most {
		more = fmt.Sprintf(" and %d more", len(unused)-most)
		unused = unused[:most]
	}
	return errors.New("method file: entries that fit no method: " + strings.Join(unused, ", ") + more)
}

// repolicy changes the policy of a running engine. Methods whose mode changes
// close their interval before, so that its counts are of one mode.
func (e *engine) repolicy(change func(*policy)) {
	registry.mu.Lock()
	change(&e.policy)
	changes := false
	for _, m := range registry.ordered {
		changes = changes || m.mode() != e.policy.settingsFor(m).mode
	}
	registry.mu.Unlock()
	if changes {
		e.cut(e.unix(now()), false)
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, m := range registry.ordered {
		e.settle(m)
	}
}

func (e *engine) adoptRates(rates *rateTable) {
	e.repolicy(func(p *policy) { p.rates = rates })
	e.ratesServed.Store(rates != nil)
}

func (e *engine) adoptFile(file *methodfile.File) {
	e.repolicy(func(p *policy) { p.file = file })
	e.counters.reloads.Add(1)
	e.reportUnused()
}

// settle gives a method the plan its settings ask for. registry.mu is held.
func (e *engine) settle(m *Method) {
	wanted := e.policy.settingsFor(m)
	current := m.plan.Load()
	if wanted.mode == Off || e.closing {
		if current != nil {
			m.settleTo(nil)
		}
		return
	}
	if current != nil && current.settings == wanted && current.tailFrom == m.tailFrom && len(current.calls) == len(*m.calls.Load()) {
		return
	}
	m.settleTo(newPlan(e, m, wanted))
}

// settleTo replaces the plan. Calls under way keep the old one; what its shards
// hold goes to the cell table, as does what those calls will add.
func (m *Method) settleTo(pl *plan) {
	old := m.plan.Swap(pl)
	if (old == nil) != (pl == nil) {
		callersChanged.Add(1)
	}
	if old != nil {
		old.openShards(minuteOf(old.engine.unix(now())), false)
	}
}
