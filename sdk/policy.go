package corehour

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/methodfile"
)

// policy decides the settings of each method's probe. Precedence, highest first: fresh rates that a
// collector serves for the method, options of NewMethod, the method's entry in the file, then the
// defaults of the collector, the file, Start and the environment. Off and Blocking in code and file
// are final, and so are the file's bounds of rates.
type policy struct {
	defaults settings
	file     *methodfile.File // nil = none
	strict   bool             // faults of the file are errors of Start
	rates    *rateTable       // nil = none, or not fresh

	compiledIn bool // all methods were declared by a build
	named      bool // methods are off unless an entry matches them
}

// newPolicy reads the method file that w follows; nil = there is none.
func newPolicy(c config, w *methodfile.Watch) (policy, error) {
	p := policy{defaults: c.defaults, strict: c.strictMethods, compiledIn: c.compiledIn, named: c.namedOnly}
	if w == nil {
		p.file = c.builtFile()
		return p, nil
	}
	file, err := w.Next()
	if err != nil && (c.methodFileAsked || c.strictMethods) {
		return p, err
	}
	if err != nil {
		messages.Logf("COREHOUR_METHODS is left out: %v", err)
		return p, nil
	}
	p.file = file
	return p, nil
}

// settingsFor returns the settings of a method from all sources. registry.mu is held.
func (p *policy) settingsFor(m *Method) settings {
	s := p.defaults
	own := m.options.override
	filed, entered, bounds := p.fileOverride(m)
	if !entered {
		filed.apply(&s)
	}
	if p.rates != nil && (entered || !p.named) {
		p.rates.fallback.apply(&s)
		if p.rates.fallback.rate != nil {
			s.rate = bounds.hold(s.rate)
		}
	}
	if entered {
		if p.named && s.mode == Off {
			s.mode = Sample
		}
		filed.apply(&s)
	}
	own.apply(&s)
	blocking := own.blocking || filed.blocking
	chosen := own.rate != nil || entered && filed.rate != nil
	if p.rates != nil {
		if served, ok := p.rates.overrideFor(m.owner.Name); ok {
			filed.lazy = false
			served.apply(&s)
			s.rate = bounds.hold(s.rate)
			blocking = blocking || served.blocking
			chosen = chosen || served.rate != nil
		}
	}
	s.lazy = filed.lazy
	if s.mode == Sample && s.rate < 1 && !chosen {
		least := leastRate
		if bounds.min != nil {
			least = max(least, *bounds.min)
		}
		s.asked, s.rate = s.rate, max(math.Ldexp(s.rate, -m.halvings), min(s.rate, least))
	}
	s.noCaller = m.options.noCaller
	s.tail = s.tail && s.mode != Aggregate // there every call is in the sums already
	s.stack = s.stack && s.mode != Aggregate && !s.noCaller
	if own.isOff() || filed.isOff() {
		s.mode = Off
	}
	if blocking || m.wallOnly != "" {
		s.cpuRate = 0
	}
	return s
}

// fileOverride returns the file's settings and bounds for a method, from its own entry, an entry that
// reaches it, or the defaults. entered reports whether an entry matched.
func (p *policy) fileOverride(m *Method) (w override, entered bool, b bounds) {
	if p.file == nil {
		return override{}, false, bounds{}
	}
	s, entered := p.file.Lookup(m.owner.Name, m.signature)
	if !entered && m.node != nil && m.node.root != nil {
		s, entered, w.lazy = *m.node.root, true, true
	}
	w = override{rate: s.Rate, cpuRate: s.CPURate, blocking: s.Blocking, tail: s.Tail, stack: s.Stack, lazy: w.lazy}
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

func (w *override) isOff() bool { return w.mode != nil && *w.mode == Off }

func (w *override) apply(s *settings) {
	if w.rate != nil {
		s.rate = *w.rate
		if s.mode == Off { // a rate switches the method on
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

// strictlyUsed returns an error if the policy is strict and the file has entries for
// methods that do not exist when Start is called.
func (p *policy) strictlyUsed() error {
	if !p.strict {
		return nil
	}
	return p.unused()
}

// unused returns an error with the entries of the file that match no method.
// registry.mu is held.
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
	if p.compiledIn {
		more += ": these need a rebuild, by corehour go build with this file"
	}
	return errors.New("method file: entries that fit no method: " + strings.Join(unused, ", ") + more)
}

// updatePolicy changes the policy of a running engine. A change of mode closes the interval first,
// so that its counts belong to one mode.
func (e *engine) updatePolicy(change func(*policy)) {
	registry.mu.Lock()
	change(&e.policy)
	changes := false
	for _, m := range registry.ordered {
		wanted := e.policy.settingsFor(m)
		changes = changes || m.mode() != wanted.mode && !(wanted.lazy && m.mode() == Off)
	}
	registry.mu.Unlock()
	if changes {
		e.cut(e.unix(now()), false)
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, m := range registry.ordered {
		e.updatePlan(m)
	}
}

func (e *engine) applyRates(rates *rateTable) {
	e.updatePolicy(func(p *policy) { p.rates = rates })
	e.ratesServed.Store(rates != nil)
}

// filePause is the interval between two readings of the method file.
const filePause = 5 * time.Second

// followFile passes every new content of the method file to the control loop. Shutdown
// does not wait for it: a file system that hangs must not hang the program.
func (e *engine) followFile() {
	for {
		select {
		case <-time.After(filePause):
		case <-e.polling.Done():
			return
		}
		file, err := e.methodWatch.Next()
		if err != nil {
			e.counters.fileFaults.Add(1)
			messages.Logf("a change of the method file is not taken: %v", err)
		}
		if file == nil {
			continue
		}
		select {
		case e.methodFiles <- file:
		case <-e.polling.Done():
		}
	}
}

func (e *engine) applyMethodFile(file *methodfile.File) {
	e.updatePolicy(func(p *policy) {
		p.file = file
		registry.graph.follow(file)
	})
	e.counters.reloads.Add(1)
	e.reportUnused()
}

// updatePlan gives a method the plan for its settings. registry.mu is held.
func (e *engine) updatePlan(m *Method) {
	wanted := e.policy.settingsFor(m)
	if wanted.mode == Off || e.closing {
		m.setPlan(nil, false)
		return
	}
	current := m.plan.Load()
	if current == nil && m.node != nil {
		current = m.node.parked.Load()
	}
	if current == nil || current.settings != wanted || current.tailFrom != m.tailFrom || current.mode == Aggregate && len(current.aggregate) != m.counterCount() {
		current = newPlan(e, m, wanted)
	}
	m.setPlan(current, wanted.lazy)
}

// setPlan replaces the plan if it differs. The plan of a lazy method is parked until a caller runs,
// which can happen at this moment; a plan that is on without having been parked was on before.
// registry.mu is held.
func (m *Method) setPlan(pl *plan, lazy bool) {
	n := m.node
	if lazy {
		n.park(pl)
	} else if n != nil {
		n.park(nil)
	}
	current := m.plan.Load()
	awaited := lazy && (current == nil || !n.called.Load())
	if awaited {
		pl = nil
	}
	if current != pl {
		m.replacePlan(pl)
	}
	if awaited && n.called.Load() {
		n.activate()
	}
}

// replacePlan replaces the plan. Calls in flight keep the old one; the sums of its shards move to the
// cell table, and so do the sums of those calls.
func (m *Method) replacePlan(pl *plan) {
	old := m.plan.Swap(pl)
	if (old == nil) != (pl == nil) {
		callers.Switched()
	}
	if pl == nil {
		m.releasePlans()
	}
	if old != nil {
		old.openShards(minuteOf(engineOf(old).unix(now())), false)
	}
}
