package decide

import (
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

const (
	// idleLong is how long a method must have been idle to be evicted when the store
	// is full.
	idleLong = time.Hour

	// maxOverflows bounds the groups that have a key for their overflow, beyond
	// max_methods.
	maxOverflows = 1000
)

// methodStore holds the state of all methods.
type methodStore struct {
	cfg       Config
	methods   map[Key]*method
	order     []*method // in order of arrival, so that sums do not depend on a map's order
	services  map[serviceKey]*service
	versions  map[Group]*version
	overflows int
	trim      float64   // of the budget that all share, see allocation.trimmed
	last      time.Time // of the last step
	seconds   float64   // that it showed
	running   bool      // there was a step since the start
	evictedAt time.Time
	stats     Stats
	decisions []Decision
}

func newMethodStore(cfg Config) *methodStore {
	return &methodStore{
		cfg:      cfg,
		methods:  make(map[Key]*method),
		services: make(map[serviceKey]*service),
		versions: make(map[Group]*version),
		trim:     1,
	}
}

// learnInterval adds the observations of an interval.
func (b *methodStore) learnInterval(now time.Time, seen []Observation) {
	elapsed := now.Sub(b.last)
	factor := 1.0
	if !b.last.IsZero() {
		factor = halved(elapsed, b.cfg.HalfLife)
	}
	seconds := elapsed.Seconds()
	if !b.running || seconds <= 0 {
		seconds = b.cfg.Interval.Seconds()
	}
	b.last, b.running, b.seconds = now, true, seconds
	b.forget(now)
	for _, v := range b.versions {
		if !v.late {
			v.owed = 0
		}
		v.heard, v.calls, v.kept, v.represented = false, 0, 0, 0
		v.weight *= factor
		v.called *= factor
	}
	for _, m := range b.order {
		m.age(factor)
	}
	for i := range seen {
		b.addObservation(now, &seen[i])
	}
	for _, v := range b.versions {
		v.wait(seconds)
	}
	for _, m := range b.order {
		m.observe(seconds)
	}
	b.pool()
	b.stats.Methods = len(b.order)
}

// addObservation adds an observation to its method, or to the overflow of its group.
func (b *methodStore) addObservation(now time.Time, s *Observation) {
	if !validAmount(s.Calls) || s.Calls == 0 && s.Wall.Records == 0 && s.Arrived == 0 {
		return
	}
	m := b.place(now, s.Key)
	if m == nil {
		b.stats.Overflowed++
		if m = b.place(now, s.Key.Overflow()); m == nil {
			return
		}
	}
	m.addObservation(now, s, b.cfg.Scorecard.Meter)
}

// place returns the method of a key. It creates it if there is room, and returns nil otherwise.
func (b *methodStore) place(now time.Time, key Key) *method {
	if m, ok := b.methods[key]; ok {
		return m
	}
	switch {
	case key.isOverflow():
		if b.overflows >= maxOverflows {
			return nil
		}
		b.overflows++
	case len(b.order)-b.overflows >= b.cfg.MaxMethods && !b.evict(now):
		return nil
	}
	v := b.version(now, key.Group)
	m := &method{key: key, version: v, seen: now}
	b.addMethod(m)
	b.inherit(m)
	return m
}

func (b *methodStore) addMethod(m *method) {
	b.methods[m.key] = m
	b.order = append(b.order, m)
	m.version.methods++
}

// version returns the version of a group, which it makes if it is new.
func (b *methodStore) version(now time.Time, g Group) *version {
	if v, ok := b.versions[g]; ok {
		return v
	}
	key := serviceKey{g.Namespace, g.Service, g.Environment}
	s, ok := b.services[key]
	if !ok {
		s = &service{key: key, spread: 1, cost: 1, cpuPerWall: 1, trim: 1}
		b.services[key] = s
	}
	v := &version{group: g, service: s, first: now, last: now}
	for _, other := range s.versions {
		v.follows = v.follows || other.first.Before(now)
	}
	b.versions[g] = v
	s.versions = append(s.versions, v)
	return v
}

// evict removes the methods that have been idle longest, a tenth of the store at most,
// and reports whether there were any. It searches once per step.
func (b *methodStore) evict(now time.Time) bool {
	if b.evictedAt.Equal(now) {
		return false
	}
	b.evictedAt = now
	var idle []*method
	for _, m := range b.order {
		if now.Sub(m.seen) >= idleLong && !m.key.isOverflow() {
			idle = append(idle, m)
		}
	}
	slices.SortStableFunc(idle, func(a, b *method) int { return a.seen.Compare(b.seen) })
	idle = idle[:min(len(idle), b.cfg.MaxMethods/10+1)]
	out := make(map[*method]bool, len(idle))
	for _, m := range idle {
		out[m] = true
	}
	b.remove(func(m *method) bool { return out[m] })
	return len(idle) > 0
}

// forget removes methods that have not been seen for long. A method that is off cannot be seen; it stays as long
// as its version.
func (b *methodStore) forget(now time.Time) {
	b.remove(func(m *method) bool {
		seen := m.seen
		if m.score.off() && m.version.last.After(seen) {
			seen = m.version.last
		}
		return now.Sub(seen) >= b.cfg.ForgetAfter
	})
}

func (b *methodStore) remove(which func(*method) bool) {
	b.order = slices.DeleteFunc(b.order, func(m *method) bool {
		if !which(m) {
			return false
		}
		delete(b.methods, m.key)
		b.stats.Forgotten++
		if m.key.isOverflow() {
			b.overflows--
		}
		if m.version.methods--; m.version.methods == 0 {
			b.drop(m.version)
		}
		return true
	})
}

func (b *methodStore) drop(v *version) {
	delete(b.versions, v.group)
	s := v.service
	s.versions = slices.DeleteFunc(s.versions, func(other *version) bool { return other == v })
	if s.head == v {
		s.head = nil
	}
	if len(s.versions) == 0 {
		delete(b.services, s.key)
	}
}

// Rules applies another method file. Methods that it switches off are not seen from now on, so the next step
// learns nothing about them.
func (b *methodStore) Rules(of func(Key) *methodfile.Rule) {
	for _, m := range b.order {
		if m.rule = of(m.key); m.rule != nil && m.rule.Mode == methodfile.ModeOff {
			m.mode = methodfile.ModeOff
		}
	}
}

// Stats returns the figures of the last step.
func (b *methodStore) Stats() Stats { return b.stats }

// Unknown returns the decision for methods that Step returns none for.
func (b *methodStore) Unknown(g Group) Decision {
	d := Decision{Key: Key{Group: g}, Mode: methodfile.ModeSample, P: b.cfg.ColdStart.Rate, Reason: reasonCold, Evidence: Evidence{EntryShare: math.NaN()}}
	if m, ok := b.methods[g.Overflow()]; ok && m.p > 0 {
		d.P, d.Reason = min(d.P, m.p), ReasonOverflow
	}
	return d
}

// report returns the decisions of the step.
func (b *methodStore) report() []Decision {
	b.decisions = slices.Grow(b.decisions[:0], len(b.order))
	b.stats.Planned, b.stats.Off = 0, 0
	for _, m := range b.order {
		d := m.decision()
		if d.Mode == methodfile.ModeSample && m.version.heard {
			b.stats.Planned += d.P * m.calls.Now
		}
		switch {
		case m.score.off() && m.mode == methodfile.ModeOff:
			b.stats.Off++
		case m.score.off() && b.cfg.Scorecard.Shadow:
			d.Score = ScoreWouldBe
		}
		b.decisions = append(b.decisions, d)
	}
	return b.decisions
}
