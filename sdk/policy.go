package corehour

// policy decides what each method's probe does. Authority, from above: what the
// code says to NewMethod, the method file, the defaults of Start or the
// environment. Off and Blocking, wherever they come from, are final.
type policy struct {
	defaults settings
}

func newPolicy(c config) (policy, error) {
	return policy{defaults: c.defaults}, nil
}

// settingsFor returns what all sources want for a method.
func (p *policy) settingsFor(m *Method) settings {
	s := p.defaults
	m.options.wish.apply(&s)
	s.noCaller = m.options.noCaller
	if m.options.blocking || m.wallOnly != "" {
		s.cpuRate = 0
	}
	return s
}

func (w *wish) apply(s *settings) {
	if w.mode != nil {
		s.mode = *w.mode
	}
	if w.rate != nil {
		s.rate = *w.rate
	}
	if w.cpuRate != nil {
		s.cpuRate = *w.cpuRate
	}
}

// settle gives a method the plan its settings ask for. registry.mu is held.
func (e *engine) settle(m *Method) {
	wanted := e.policy.settingsFor(m)
	current := m.plan.Load()
	if wanted.mode == Off {
		if current != nil {
			m.settleTo(nil)
		}
		return
	}
	if current != nil && current.settings == wanted && len(current.calls) == len(*m.calls.Load()) {
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
