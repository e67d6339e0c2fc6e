package decide

import (
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// To detect a change of a mean, it must differ by compareFalse standard errors, so that repeated tests of a
// thousand methods have no false positive, with a power of nine tenths.
const (
	compareFalse = 4.5
	comparePower = 1.28
)

// runningIntervals is the number of intervals for which a silent version still counts as running.
const runningIntervals = 5

// pair is a method in the new version and in those running alongside it.
type pair struct {
	head *method
	old  []*method
}

// recordsFor returns the number of records that each side needs to detect an effect.
func recordsFor(spread, effect float64) float64 {
	z := (compareFalse + comparePower) / math.Log1p(effect)
	return 2 * z * z * spread * spread
}

// compare finds the versions that are compared, and counts their records.
func (b *methodStore) compare(now time.Time) {
	b.stats.Boosted = 0
	for _, s := range b.services {
		var head *version
		count := 0
		for _, v := range s.versions {
			if now.Sub(v.last) >= runningIntervals*b.cfg.Interval {
				continue
			}
			count++
			if head == nil || v.first.After(head.first) {
				head = v
			}
		}
		if !b.cfg.Boost.Enabled || count < 2 || !head.follows || now.Sub(head.first) >= b.cfg.Boost.Deadline {
			s.head = nil
			continue
		}
		b.stats.Boosted++
		if s.head != head {
			s.head, s.opened = head, now
		}
	}
	for _, m := range b.order {
		if s := m.version.service; s.head == nil || s.opened.Equal(now) {
			m.compared = 0
		} else {
			m.compared += m.now.records
		}
	}
}

// pairs returns the methods to compare now: present in both versions, with a free rate, and still short of
// records.
func (b *methodStore) pairs() []*pair {
	if b.stats.Boosted == 0 {
		return nil
	}
	var all []*pair
	found := make(map[Key]*pair)
	anonymous := func(k Key) Key { k.Version = ""; return k }
	for _, m := range b.order {
		if m.version.service.head == m.version && m.comparable() {
			p := &pair{head: m}
			found[anonymous(m.key)] = p
			all = append(all, p)
		}
	}
	for _, m := range b.order {
		if s := m.version.service; s.head != nil && s.head != m.version && m.comparable() {
			if p, ok := found[anonymous(m.key)]; ok {
				p.old = append(p.old, m)
			}
		}
	}
	return slices.DeleteFunc(all, func(p *pair) bool { return !p.open(b.cfg.Boost.Effect) })
}

func (m *method) comparable() bool {
	return m.version.heard && m.mode == methodfile.ModeSample && !m.pinned() && !m.key.isOverflow()
}

// open reports whether one of the sides has not enough records yet.
func (p *pair) open(effect float64) bool {
	if len(p.old) == 0 {
		return false
	}
	need := recordsFor(p.largerCV(), effect)
	var old float64
	for _, m := range p.old {
		old += m.compared
	}
	return min(p.head.compared, old) < need
}

// largerCV returns the largest coefficient of variation of both sides.
func (p *pair) largerCV() float64 {
	spread := p.head.cv()
	for _, m := range p.old {
		spread = max(spread, m.cv())
	}
	return spread
}
