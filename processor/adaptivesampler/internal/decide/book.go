package decide

import (
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

const (
	// idleLong is how long a method must have been idle to give its place to
	// another when the book is full.
	idleLong = time.Hour

	// maxOverflows bounds the groups that have a key for their overflow, beyond
	// max_methods.
	maxOverflows = 1000
)

// book is what is known of all methods.
type book struct {
	cfg       Config
	methods   map[Key]*method
	order     []*method // as they came, so that sums do not depend on a map's order
	services  map[serviceKey]*service
	versions  map[Group]*version
	overflows int
	trim      float64   // of the budget that all share, see pot.trimmed
	last      time.Time // of the last step
	seconds   float64   // that it showed
	running   bool      // there was a step since the start
	evictedAt time.Time
	stats     Stats
	decisions []Decision
}

func newBook(cfg Config) *book {
	return &book{
		cfg:      cfg,
		methods:  make(map[Key]*method),
		services: make(map[serviceKey]*service),
		versions: make(map[Group]*version),
		trim:     1,
		stats:    Stats{Capacity: cfg.MaxMethods},
	}
}

// learn takes in an interval.
func (b *book) learn(now time.Time, seen []Seen) {
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
		v.heard, v.calls, v.kept, v.stood = false, 0, 0, 0
		v.weight *= factor
		v.called *= factor
	}
	for _, m := range b.order {
		m.age(factor)
	}
	for i := range seen {
		b.take(now, &seen[i])
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

// take puts what was seen of a method into its place.
func (b *book) take(now time.Time, s *Seen) {
	if !sound(s.Calls) || s.Calls == 0 && s.Wall.Records == 0 && s.Arrived == 0 {
		return
	}
	m := b.place(now, s.Key)
	if m == nil {
		b.stats.Overflowed++
		if m = b.place(now, s.Key.Overflow()); m == nil {
			return
		}
	}
	m.take(now, s, b.cfg.Scorecard.Meter)
}

// place finds the method of a key, or makes it if there is room.
func (b *book) place(now time.Time, key Key) *method {
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
	b.add(m)
	b.inherit(m)
	return m
}

func (b *book) add(m *method) {
	b.methods[m.key] = m
	b.order = append(b.order, m)
	m.version.methods++
}

// version finds the version of a group, or makes it.
func (b *book) version(now time.Time, g Group) *version {
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

// evict takes the methods out that have been idle longest, a tenth of the book
// at most, and tells whether there were any. It looks once per step.
func (b *book) evict(now time.Time) bool {
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

// forget takes out what has not been seen for long. A method that is switched
// off cannot be seen; it stays as long as its version does.
func (b *book) forget(now time.Time) {
	b.remove(func(m *method) bool {
		seen := m.seen
		if m.score.off() && m.version.last.After(seen) {
			seen = m.version.last
		}
		return now.Sub(seen) >= b.cfg.ForgetAfter
	})
}

func (b *book) remove(which func(*method) bool) {
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

func (b *book) drop(v *version) {
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

// Rules makes the methods follow another method file. What it says is off is not
// heard from now on, so the next step learns nothing of it.
func (b *book) Rules(of func(Key) *methodfile.Rule) {
	for _, m := range b.order {
		if m.rule = of(m.key); m.rule != nil && m.rule.Mode == methodfile.ModeOff {
			m.mode = methodfile.ModeOff
		}
	}
}

// Stats are the figures of the last step.
func (b *book) Stats() Stats { return b.stats }

// Unknown is what holds for methods without a decision.
func (b *book) Unknown(g Group) Decision {
	d := Decision{Key: Key{Group: g}, Mode: methodfile.ModeSample, P: b.cfg.ColdStart.Rate, Reason: reasonCold, EntryShare: math.NaN()}
	if m, ok := b.methods[g.Overflow()]; ok && m.p > 0 {
		d.P, d.Reason = min(d.P, m.p), ReasonOverflow
	}
	return d
}

// report makes the decisions of what the step has left in the methods.
func (b *book) report() []Decision {
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
