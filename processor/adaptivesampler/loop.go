package adaptivesampler

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// controlLoop passes what was learned to the strategy once per interval, and puts its
// decisions in force, here and in the processes.
type controlLoop struct {
	*sampler
	strategy decide.Strategy // nil = what the file says stays
	served   *servedTables

	mu      sync.Mutex // one step, or one change of the file, at a time
	last    time.Time
	seen    []decide.Observation // used again
	pending []change
	warned  time.Time // of a budget that is too small

	unknowns map[*group]*decide.Decision // of nil: of groups that are new

	tables   map[decide.Group]*rates.Table // of the groups themselves, as served
	fallback *rates.Table
	tablesOf *rules
	patterns []rates.Rate // of tablesOf

	claimed  string // the state file
	unread   bool   // it is there and could not be read: it is not written over
	withdraw func()
	begin    sync.Once
	end      sync.Once
	stop     chan struct{}
	done     sync.WaitGroup
}

// change is a decision that is to be put in force.
type change struct {
	method *method
	to     *decision
	info   decide.Evidence
}

func newControlLoop(s *sampler, strategy decide.Strategy) *controlLoop {
	return &controlLoop{sampler: s, strategy: strategy, served: newServedTables(), stop: make(chan struct{})}
}

func (l *controlLoop) start(host component.Host) error {
	var err error
	l.begin.Do(func() { err = l.open(host) })
	return err
}

func (l *controlLoop) open(host component.Host) error {
	if err := l.claim(); err != nil {
		return err
	}
	l.last = time.Now()
	l.table.renew(l.last)
	l.restore()
	l.update(l.last)
	if err := l.publish(host); err != nil {
		return err
	}
	l.done.Go(l.runSteps)
	return nil
}

// shutdown may come twice, or without a start.
func (l *controlLoop) shutdown() {
	l.end.Do(func() {
		close(l.stop)
		l.done.Wait()
		if l.withdraw != nil {
			l.withdraw()
		}
		l.begin.Do(func() {}) // a start after this does nothing
		if l.claimed != "" {
			l.save()
			claims.Delete(l.claimed)
		}
	})
}

func (l *controlLoop) runSteps() {
	wait := func() time.Duration {
		now := time.Now()
		return endOf(now, l.config.Interval).Sub(now)
	}
	next := time.NewTimer(wait())
	defer next.Stop()
	var saves <-chan time.Time
	if l.config.State.File != "" {
		saver := time.NewTicker(l.config.State.Interval)
		defer saver.Stop()
		saves = saver.C
	}
	for {
		select {
		case <-l.stop:
			return
		case now := <-next.C:
			l.step(now)
			next.Reset(wait())
		case <-saves:
			l.save()
		}
	}
}

// step ends an interval: it collects, decides, evicts and publishes.
func (l *controlLoop) step(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := now.Sub(l.last)
	if elapsed <= 0 {
		return
	}
	l.last = now
	kept := l.collect(now, elapsed)
	if l.strategy != nil {
		l.decide(now)
	}
	l.table.renew(now)
	evicted := l.table.evict()
	l.update(now)
	l.telemetry.stepped(context.Background(), l, evicted, kept/elapsed.Seconds())
}

// collect removes and returns what was learned since the last step. Batches go on
// meanwhile: each method is emptied at once, and later spans belong to the next step.
func (l *controlLoop) collect(now time.Time, elapsed time.Duration) (kept float64) {
	t := l.table
	t.mu.Lock()
	t.epoch++
	t.mu.Unlock()
	t.mu.RLock()
	defer t.mu.RUnlock()
	l.seen = l.seen[:0]
	for m := range t.all() {
		s, arrived := m.endInterval(now, elapsed)
		kept += s.kept
		if l.strategy == nil || s == (methodSums{}) {
			continue
		}
		rule := m.rule
		if rule == nil && l.file != nil {
			rule = &t.rules.file.Default
		}
		l.seen = append(l.seen, decide.Observation{
			Key: m.key(), Rule: rule, Calls: s.calls, Foreign: m.foreign, Wall: s.wall, CPU: s.cpu,
			Entry: s.entry, Called: s.called, Arrived: arrived, Asked: s.asked, Above: s.above, Callees: s.callees,
		})
	}
	return kept
}

// decide calls the strategy, and puts in force what differs by more than noise.
func (l *controlLoop) decide(now time.Time) {
	t := l.table
	decisions := l.strategy.Step(now, l.seen)
	l.warn(now)
	clear(l.seen) // the names of methods that may go
	l.pending = l.pending[:0]
	t.mu.RLock()
	for i := range decisions {
		d := &decisions[i]
		if m := t.find(d.Key); m != nil && !m.group.takeover.pending(now) {
			m.decided = t.epoch
			l.pending = append(l.pending, change{m, t.prepare.learned(d, m.decision, m.fixed, t.rules.bounds(m.rule)), d.Evidence})
		}
	}
	l.unknown(now)
	t.mu.RUnlock()
	l.install()
}

// warnEvery is how often a budget that is too small is logged.
const warnEvery = time.Hour

// warn logs that the budget is too small for the minimum: rates are below what was asked
// for, and nothing else would say why.
func (l *controlLoop) warn(now time.Time) {
	n := l.strategy.Stats().OverdrawnBudgets
	if n == 0 || now.Sub(l.warned) < warnEvery {
		return
	}
	l.warned = now
	l.log.Warn("the budget is too small for what must be kept: the rates that the method file fixes leave less than a tenth of it, or floors and lowest rates of all methods have less than half of what they ask for; "+
		"raise `budget::records_per_second`, lower `floor_records_per_day` or `min_rate`, or give fixed rates a `min` or `max`",
		zap.Int("budgets", n), zap.Float64("records_per_second", l.config.Budget.RecordsPerSecond), zap.String("per", l.config.Budget.Per))
}

// unknown gives the methods without a decision the strategy's decision for unknown ones.
// t.mu is held for reading.
func (l *controlLoop) unknown(now time.Time) {
	t := l.table
	l.unknowns = map[*group]*decide.Decision{nil: l.unknownOf(decide.Group{})}
	for g := range t.everyGroup() {
		l.unknowns[g] = l.unknownOf(g.Group)
	}
	for m := range t.all() {
		if m.decided != t.epoch && !m.group.takeover.pending(now) {
			d := t.prepare.learned(t.undecided(m, l.unknowns[m.group]), m.decision, m.fixed, t.rules.bounds(m.rule))
			l.pending = append(l.pending, change{m, d, decide.Evidence{State: rates.Unseen}})
		}
	}
}

func (l *controlLoop) unknownOf(id decide.Group) *decide.Decision {
	d := l.strategy.Unknown(id)
	return &d
}

func (l *controlLoop) install() {
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	for g, d := range l.unknowns {
		if g == nil {
			t.unknown = d
			continue
		}
		g.unknown = d
	}
	for _, c := range l.pending {
		if c.to != c.method.decision {
			if !c.to.sameForSDK(c.method.decision) {
				c.method.group.changed = true
			}
			c.method.decision = c.to
		}
		c.method.info = c.info
	}
	clear(l.pending)
}

// fileChanged puts another method file in force.
func (l *controlLoop) fileChanged(file *methodfile.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.adopt(compile(file, l.prepare))
	l.followFile()
	l.update(time.Now())
}

// followFile makes the strategy's methods follow the file that is in force.
func (l *controlLoop) followFile() {
	if l.strategy == nil {
		return
	}
	r := l.table.rules // changes under l.mu alone
	l.strategy.Rules(func(key decide.Key) *methodfile.Rule {
		rule, _ := r.find(functionOf(key))
		if rule == nil && l.file != nil {
			rule = &r.file.Default
		}
		return rule
	})
}
