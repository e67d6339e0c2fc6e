package adaptivesampler

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// LimitConfig bounds the records kept in any interval. Excess records are thinned with a known probability.
type LimitConfig struct {
	// RecordsPerSecond is the limit of each service. 0 means 1.25 times the budget per service if set, else no
	// limit.
	RecordsPerSecond float64 `mapstructure:"records_per_second"`

	// TotalRecordsPerSecond is the limit of all services together. 0 means 1.25 times the shared budget if set,
	// else no limit.
	TotalRecordsPerSecond float64 `mapstructure:"total_records_per_second"`
	_                     struct{}
}

// recordLimits returns the limits in force. 0 means no limit.
func (c *Config) recordLimits() (service, total float64) {
	service, total = c.Limit.RecordsPerSecond, c.Limit.TotalRecordsPerSecond
	if c.Strategy == decide.StrategyBudget {
		switch budget := decide.Headroom * c.Budget.RecordsPerSecond; {
		case c.Budget.Per == decide.PerAll && total == 0:
			total = budget
		case c.Budget.Per == decide.PerService && service == 0:
			service = budget
		}
	}
	return service, total
}

func (c *Config) validateLimit() error {
	for _, option := range []struct {
		key   string
		value float64
		per   string
	}{{"records_per_second", c.Limit.RecordsPerSecond, decide.PerService}, {"total_records_per_second", c.Limit.TotalRecordsPerSecond, decide.PerAll}} {
		switch budget := c.Budget.RecordsPerSecond; {
		case !(option.value >= 0 && option.value <= 1e18):
			return fmt.Errorf("`limit::%s` must be a number that is not negative, found %v: 0 is 1.25 times the budget, or none without one", option.key, option.value)
		case c.Strategy == decide.StrategyBudget && c.Budget.Per == option.per && option.value > 0 && option.value < budget:
			return fmt.Errorf("`limit::%s` must be at least `budget::records_per_second` (%v), found %v: lower the budget, it can't be spent", option.key, budget, option.value)
		}
	}
	return nil
}

// intervalLimit is the limit of one service, or of one sender's share of the total, for the current interval.
// Kept records are counted without a lock. From time to time a review under the lock adjusts all rates.
type intervalLimit struct {
	shares bool    // limits a sender's share of the total
	coming float64 // records per second expected by the last review, or kept in the last interval; guarded by limits.mu
	cut    bool    // a review has cut a rate
	kept   atomic.Int64
	pinned atomic.Int64 // kept records whose rate the method file fixes
	due    atomic.Int64 // number of kept records at which the next review is due

	mu      sync.Mutex
	state   decide.Limit
	flows   []decide.Flow // reused
	methods []*method
}

func newIntervalLimit(perSecond float64, now, ends time.Time, interval time.Duration) *intervalLimit {
	l := &intervalLimit{}
	l.begin(now, ends, interval, perSecond)
	return l
}

// begin starts an interval. The caller must have exclusive access to the limit.
func (l *intervalLimit) begin(now, ends time.Time, interval time.Duration, perSecond float64) {
	l.state.Begin(now, ends, interval, perSecond)
	l.cut = false
	l.kept.Store(0)
	l.pinned.Store(0)
	l.due.Store(int64(l.state.Due))
}

// intervalLimits holds all limits in force: one per service and one per sender, or none if not configured.
// Senders share the total. Each gets the records that the others leave, and at least an equal share, so that a
// sender that floods the collector cuts only its own methods.
type intervalLimits struct {
	interval       time.Duration
	service, total float64 // records per second

	mu        sync.Mutex
	ends      time.Time                       // end of the current interval
	byService map[decide.Group]*intervalLimit // keys have no version
	bySender  map[string]*intervalLimit
	wanted    []float64 // reused
}

func newIntervalLimits(c *Config) *intervalLimits {
	l := &intervalLimits{interval: c.Interval, byService: make(map[decide.Group]*intervalLimit), bySender: make(map[string]*intervalLimit)}
	l.service, l.total = c.recordLimits()
	return l
}

// forGroup returns the limits of a group: that of its service and that of its sender. It creates missing ones.
func (l *intervalLimits) forGroup(id decide.Group, sender string) (both [2]*intervalLimit) {
	if l.service <= 0 && l.total <= 0 {
		return both
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.ends.After(now) { // before the first step, or if a step is late
		l.ends = endOf(now, l.interval)
	}
	if l.service > 0 {
		id.Version = ""
		if l.byService[id] == nil && len(l.byService) >= maxGroups {
			id = decide.Group{Service: methodspan.Overflow}
		}
		if l.byService[id] == nil {
			l.byService[id] = newIntervalLimit(l.service, now, l.ends, l.interval)
		}
		both[0] = l.byService[id]
	}
	if l.total > 0 {
		both[1] = l.senderLimit(sender, now)
	}
	return both
}

// senderLimit returns the limit of a sender. A new limit starts with an equal share, and its first review computes
// the real one. Beyond maxGroups senders, all new ones share one limit until the next interval. l.mu must be
// held.
func (l *intervalLimits) senderLimit(sender string, now time.Time) *intervalLimit {
	own := l.bySender[sender]
	if own == nil && len(l.bySender) >= maxGroups {
		sender = ""
		own = l.bySender[sender]
	}
	if own == nil {
		own = newIntervalLimit(l.total/float64(len(l.bySender)+1), now, l.ends, l.interval)
		own.shares = true
		l.bySender[sender] = own
	}
	return own
}

// share returns the records per second that a sender can have now.
func (l *intervalLimits) share(own *intervalLimit, now time.Time) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted = l.wanted[:0]
	for _, other := range l.bySender {
		if wants := other.state.Wants(now, float64(other.kept.Load()), other.coming); other != own && wants > 0 {
			l.wanted = append(l.wanted, wants)
		}
	}
	return decide.Share(l.total, l.wanted)
}

// expect stores the record rate that a review expects of a sender.
func (l *intervalLimits) expect(own *intervalLimit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own.coming = own.state.Coming
}

// endOf returns the end of an interval that begins now. Intervals are aligned to the clock, so that all
// collectors of one service begin theirs together. They end half way between full minutes: SDKs send counts at
// full minutes, so each interval contains the counts of a minute once.
func endOf(now time.Time, interval time.Duration) time.Time {
	end := now.Truncate(interval).Add(interval / 2)
	for end.Sub(now) < interval/2 { // the first interval can be half as long again
		end = end.Add(interval)
	}
	return end
}

// beginInterval begins an interval: it restores the rates of the strategy and removes the limits of services that were
// evicted.
func (t *methodTable) beginInterval(now time.Time) {
	l := t.limits
	if l.service <= 0 && l.total <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for m := range t.all() {
		m.held.Store(nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = endOf(now, l.interval)
	for _, g := range t.groups {
		t.changeSender(g, now)
	}
	clear(l.byService)
	clear(l.bySender)
	for g := range t.allGroups() {
		if own := g.limits[0]; own != nil {
			id := g.Group
			id.Version = ""
			l.byService[id] = own
		}
		if own := g.limits[1]; own != nil {
			l.bySender[g.sender] = own
		}
	}
	for _, own := range l.byService {
		own.begin(now, l.ends, l.interval, l.service)
	}
	for _, own := range l.bySender {
		own.coming = own.state.Rate(float64(own.kept.Load()))
		own.begin(now, l.ends, l.interval, l.total/float64(len(l.bySender)))
	}
}

// changeSender moves a version that several senders send from a sender whose share was too small to one whose share
// was not. So a sender cannot claim a name first, flood the collector and keep the name. A version from a state
// file has no sender until its first batch. t.mu and t.limits.mu must be held.
func (t *methodTable) changeSender(g *group, now time.Time) {
	other := g.other.Swap(nil)
	if other == nil {
		return
	}
	own, to := g.limits[1], t.limits.bySender[*other]
	if g.sender != "" && (own == nil || !own.cut || to != nil && to.cut) {
		return
	}
	spellings := 0
	for _, m := range g.methods {
		spellings += m.spellings
	}
	if h := t.holders[*other]; h != nil && (h.groups >= shareOf(maxGroups) || h.methods+spellings > shareOf(t.maxMethods)) {
		return
	}
	t.addHolding(g.sender, -1, -spellings)
	g.sender = strings.Clone(*other)
	t.addHolding(g.sender, 1, spellings)
	if own != nil {
		g.limits[1] = t.limits.senderLimit(g.sender, now)
	}
}

// inForce returns the current decision for a method: the strategy's, or a lower rate for the rest of the
// interval.
func (m *method) inForce() *decision {
	if held := m.held.Load(); held != nil {
		return held
	}
	return m.decision
}

const reasonLimit = "limit of the interval"

// countKept counts a kept record. Near the limit it starts a review, which cuts rates for the rest of the
// interval.
func (r *batchLookup) countKept(d *decision, now time.Time) {
	for _, l := range r.group.limits {
		if l == nil {
			continue
		}
		if d.pinned() {
			l.pinned.Add(1)
		}
		if l.kept.Add(1) >= l.due.Load() {
			r.review(l, now)
		}
	}
}

// pinned reports whether only the method file decides.
func (d *decision) pinned() bool { return !d.learned && !d.open }

func (g *group) limitedBy(l *intervalLimit) bool { return g.limits[0] == l || g.limits[1] == l }

// review compares the records still expected with the records still allowed. It cuts the methods that would send
// the most.
func (r *batchLookup) review(l *intervalLimit, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept.Load() < l.due.Load() {
		return // another batch did the review
	}
	l.state.Kept, l.state.Pinned = float64(l.kept.Load()), float64(l.pinned.Load())
	if l.shares && !l.state.Allow(r.table.limits.share(l, now)) {
		l.due.Store(int64(l.state.Due))
		return
	}
	l.flows, l.methods = l.flows[:0], l.methods[:0]
	add := func(m *method) {
		d := m.inForce()
		if d.shadow || d.off() {
			return
		}
		m.mu.Lock()
		records, weight := m.now.drawn, m.now.represented
		m.mu.Unlock()
		if records > 0 {
			l.flows = append(l.flows, decide.Flow{Records: records, Weight: weight, Rate: d.rate, Pinned: d.pinned()})
			l.methods = append(l.methods, m)
		}
	}
	for g := range r.table.allGroups() {
		if g.limitedBy(l) {
			add(g.overflow)
			for _, m := range g.methods {
				add(m)
			}
		}
	}
	for _, m := range r.newMethods { // a method with two spellings is added twice, which is harmless
		if m.group.limitedBy(l) && m.group.methods[m.function] != m {
			add(m)
		}
	}
	for _, g := range r.newGroups {
		if g.limitedBy(l) {
			add(g.overflow)
		}
	}
	level, ahead := l.state.Review(now, l.flows)
	if l.shares {
		r.table.limits.expect(l)
	}
	for i, m := range l.methods {
		if rate, less := l.flows[i].Cut(level, ahead); less {
			m.cutRate(r.table, rate)
			l.cut = true
		}
	}
	l.due.Store(int64(l.state.Due))
	clear(l.methods)
}

// cutRate limits a method to a lower rate for the rest of the interval. The minimum of the method file still holds.
func (m *method) cutRate(t *methodTable, rate float64) {
	for {
		was := m.held.Load()
		from := m.decision
		if was != nil {
			from = was
		}
		held := *from
		held.rate = t.rules.bounds(m.rule).Bound(max(rate, leastHeld))
		if held.rate >= from.rate {
			return
		}
		held.cold, held.held, held.reason = 0, true, reasonLimit
		if m.held.CompareAndSwap(was, t.prepare.finish(&held)) {
			return
		}
	}
}

// leastHeld is the lowest rate that a limit can set. A record with a lower one would outweigh all others of its
// day.
const leastHeld = 1e-7
