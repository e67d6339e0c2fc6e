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

// controlLoop passes the learned sums to the strategy once per interval and puts its decisions in force, in this
// process and in the instrumented processes.
type controlLoop struct {
	*sampler
	strategy decide.Strategy // nil = the rates of the method file stay in force
	served   *servedTables

	mu      sync.Mutex // serializes steps and changes of the file
	last    time.Time
	seen    []decide.Observation // reused
	pending []change
	warned  time.Time // time of the last warning about a budget that is too small

	unknowns map[*group]*decide.Decision // the entry of nil is for new groups

	tables   map[decide.Group]*rates.Table // served tables, without aliases
	fallback *rates.Table
	tablesOf *rules
	patterns []rates.Rate // made from tablesOf

	claimed  string // path of the state file
	unread   bool   // the state file exists but could not be read, so it is not overwritten
	withdraw func()
	begin    sync.Once
	end      sync.Once
	stop     chan struct{}
	done     sync.WaitGroup
}

// change is a decision to be put in force.
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
	l.table.beginInterval(l.last)
	l.restore()
	l.update(l.last)
	if err := l.publish(host); err != nil {
		return err
	}
	l.done.Go(l.runSteps)
	return nil
}

// shutdown can be called twice, or without a start.
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
	l.table.beginInterval(now)
	evicted := l.table.evict()
	l.update(now)
	l.telemetry.stepped(context.Background(), l, evicted, kept/elapsed.Seconds())
}

// collect removes and returns the sums since the last step. Batches are processed concurrently: each method is
// emptied atomically, and later spans belong to the next step.
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
			Entry: s.entry, Called: s.called, Arrived: arrived, Asked: s.asked, Above: s.above, CalleeWall: s.calleeWall, CalleeCPU: s.calleeCPU,
		})
	}
	return kept
}

// decide calls the strategy and puts in force the decisions that differ by more than noise.
func (l *controlLoop) decide(now time.Time) {
	t := l.table
	decisions := l.strategy.Step(now, l.seen)
	l.warn(now)
	clear(l.seen) // release the names: their methods can be evicted
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

// warnEvery is the minimum time between two warnings about a budget that is too small.
const warnEvery = time.Hour

// warn logs that the budget is too small for the required minimum. Rates are then below the configured ones, and
// no other message gives the reason.
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

// unknown adds a change for each method that the strategy did not decide in this step: it gets the strategy's
// decision for unknown methods. t.mu must be held for reading.
func (l *controlLoop) unknown(now time.Time) {
	t := l.table
	l.unknowns = map[*group]*decide.Decision{nil: l.unknownOf(decide.Group{})}
	for g := range t.allGroups() {
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

// fileChanged puts a changed method file in force.
func (l *controlLoop) fileChanged(file *methodfile.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.adopt(compile(file, l.prepare))
	l.followFile()
	l.update(time.Now())
}

// followFile passes the rules of the file in force to the strategy.
func (l *controlLoop) followFile() {
	if l.strategy == nil {
		return
	}
	r := l.table.rules // changes only under l.mu
	l.strategy.Rules(func(key decide.Key) *methodfile.Rule {
		rule, _ := r.find(functionOf(key))
		if rule == nil && l.file != nil {
			rule = &r.file.Default
		}
		return rule
	})
}
