package corehour

import (
	"errors"
	"fmt"
	"os"
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

func newPolicy(c config) (policy, error) {
	p := policy{defaults: c.defaults}
	if c.methodFile == "" {
		return p, nil
	}
	file, err := readMethodFile(c.methodFile)
	if err != nil && c.methodFileAsked {
		return p, err
	}
	if err != nil {
		notes.add("COREHOUR_METHODS is left out: %v", err)
		return p, nil
	}
	p.file = file
	p.strict = c.strictMethods
	if p.strict && len(file.Faults) > 0 {
		return p, fmt.Errorf("method file %s: %s", c.methodFile, strings.Join(file.Faults, "; "))
	}
	for _, fault := range file.Faults {
		notes.add("method file %s: %s", c.methodFile, fault)
	}
	return p, nil
}

func readMethodFile(path string) (*methodfile.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("method file: %w", err)
	}
	if info.Size() > methodfile.MaxSize {
		return nil, fmt.Errorf("method file %s: must be at most %d bytes, found %d", path, methodfile.MaxSize, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("method file: %w", err)
	}
	file, err := methodfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("method file %s: %w", path, err)
	}
	return file, nil
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
	w = wish{rate: s.Rate, cpuRate: s.CPURate, blocking: s.Blocking, tail: s.Tail}
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
	if old := m.plan.Swap(pl); old != nil {
		old.openShards(minuteOf(old.engine.unix(now())), false)
	}
}
