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
			m.compared = WeightedSums{}
		} else {
			if _, name := m.measured(); name != m.comparedOf {
				m.compared, m.comparedOf = WeightedSums{}, name
			}
			m.compared.Add(&m.now.measured)
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
	return min(p.head.compared.Records, p.before().Records) < need || p.suspicious()
}

// before returns the sums of the old versions since the comparison began.
func (p *pair) before() (sums WeightedSums) {
	for _, m := range p.old {
		if m.comparedOf == p.head.comparedOf {
			sums.Add(&m.compared)
		}
	}
	return sums
}

// A method is suspicious while its mean exceeds that of the old versions by suspected standard errors, and until it
// does by certain ones: sequential tests of a thousand methods need 5 or 6, and more where processes differ.
const (
	suspected        = 2
	certain          = 8
	suspicionRecords = 10 // on each side
	suspicionFactor  = 4  // by which the demand of its comparison grows
	suspicionPart    = 0.3
)

// suspicious reports whether the method may have become more expensive.
func (p *pair) suspicious() bool {
	head, before := &p.head.compared, p.before()
	if min(head.Records, before.Records) < suspicionRecords || !(head.Mean() > 0 && before.Mean() > 0) {
		return false
	}
	z := math.Log(head.Mean()/before.Mean()) / (p.largerCV() * math.Sqrt(1/head.Records+1/before.Records))
	return z >= suspected && z < certain
}

// largerCV returns the largest coefficient of variation of both sides.
func (p *pair) largerCV() float64 {
	spread := p.head.cv()
	for _, m := range p.old {
		spread = max(spread, m.cv())
	}
	return spread
}
