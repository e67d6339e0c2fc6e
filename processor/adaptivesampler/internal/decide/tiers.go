package decide

import "time"

// tiers gives every method the rate of the method file, else that of its class.
// It has no budget: what it keeps grows with the calls.
type tiers struct{ *methodStore }

func (t *tiers) Step(now time.Time, seen []Observation) []Decision {
	t.learnInterval(now, seen)
	t.prepare(now)
	type choice struct {
		rate   float64
		reason string
	}
	choices := make(map[*method]choice, len(t.order))
	for _, m := range t.order {
		if m.free() {
			rate, reason := t.rate(m)
			choices[m] = choice{rate, reason}
		}
	}
	for _, p := range t.pairs() {
		head := min(1, choices[p.head].rate*t.cfg.Boost.Factor)
		choices[p.head] = choice{head, reasonCompared}
		var calls float64
		for _, m := range p.old {
			calls += m.calls.Now
		}
		for _, m := range p.old {
			if equal := min(1, head*p.head.calls.Now/max(calls, tiny)); equal > choices[m].rate {
				choices[m] = choice{equal, reasonCompared}
			}
		}
	}
	for _, m := range t.order {
		if c, ok := choices[m]; ok {
			l := m.limits(&t.cfg)
			m.setRate(m.holdRate(l.bound(c.rate, 1), l), c.reason, l, &t.cfg)
		}
	}
	return t.report()
}

// rate returns what the method file says, else what the class does, and never less
// than the floor.
func (t *tiers) rate(m *method) (float64, string) {
	if m.rule != nil && m.rule.Explicit {
		return m.rule.Rate, reasonFile
	}
	rate := t.cfg.Classes.rate(m.class.is)
	if floor := m.floorRate(&t.cfg); floor > rate {
		return floor, reasonFloor
	}
	return rate, reasonClass
}
