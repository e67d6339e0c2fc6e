package adaptivesampler

import (
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

const (
	// maxGroups bounds the versions of services with places of their own.
	maxGroups = 4096

	// maxName keeps senders that are not behind method_spans, which bounds names,
	// from filling memory with long ones.
	maxName = 2048
)

// group is one version of a service, and the methods that were met in it. Its
// maps change under the table's lock.
type group struct {
	decide.Group
	plain    map[string]*method    // by qualified name, without signature
	apart    map[methodKey]*method // by any other spelling
	methods  map[methodspan.Function]*method
	callers  map[string]*method // by the normal form, where callees are asked for
	overflow *method            // what shares one place: methods beyond the bound
	unknown  *decide.Decision   // the strategy's, of methods without a decision; nil = none
	ordinal  int64              // of two versions, the newer has the higher
	changed  bool               // what is served is not what is in force
	usd      atomic.Uint64      // per core hour, the bits of a float; 0 = no price
	takeover takeover
	limits   [2]*intervalLimit      // of the service and of the sender; nil = none
	sender   string                 // whose share it uses
	other    atomic.Pointer[string] // another sender of it in this interval; nil = none
}

func (g *group) price() float64 { return math.Float64frombits(g.usd.Load()) }

// holding is what one sender has of the table.
type holding struct{ groups, methods int }

// shareOf returns what one sender may have of a bound, so that it never takes all.
func shareOf(bound int) int { return bound - bound/8 }

// roomOf returns what evict leaves of a bound.
func roomOf(bound int) int { return bound - bound/4 }

// addHolding changes what a sender has. t.mu is held.
func (t *methodTable) addHolding(sender string, groups, methods int) {
	h := t.holders[sender]
	if h == nil {
		h = &holding{}
		t.holders[sender] = h
	}
	h.groups += groups
	h.methods += methods
	if *h == (holding{}) {
		delete(t.holders, sender)
	}
}

// fullFor reports whether a sender, or the table, has no room for more. Who is not known has
// no share.
func (t *methodTable) fullFor(sender string, groups, methods int) (noGroup, noMethod bool) {
	noGroup, noMethod = len(t.groups)+groups >= maxGroups, t.count+methods >= t.maxMethods
	if h := t.holders[sender]; h != nil && sender != "" {
		noGroup = noGroup || h.groups+groups >= shareOf(maxGroups)
		noMethod = noMethod || h.methods+methods >= shareOf(t.maxMethods)
	}
	return noGroup, noMethod
}

// methodTable holds all methods that were met, and what is done with them.
type methodTable struct {
	maxMethods int
	prepare    *preparer
	meter      *meter // nil = no scorecard
	limits     *intervalLimits
	thinsCold  bool // methods without a decision are thinned to the rate that is served

	mu            sync.RWMutex
	rules         *rules
	groups        map[decide.Group]*group
	overflowGroup *group              // of versions beyond the bound
	unknown       *decide.Decision    // of groups that are new
	count         int                 // spellings of methods
	holders       map[string]*holding // by sender
	born          int64               // groups since the start
	epoch         int64               // the interval
}

func newMethodTable(maxMethods int, prepare *preparer, m *meter, l *intervalLimits) *methodTable {
	return &methodTable{limits: l, maxMethods: maxMethods, prepare: prepare, meter: m, groups: make(map[decide.Group]*group), holders: make(map[string]*holding), epoch: 1}
}

func (t *methodTable) newGroup(id decide.Group, sender string) *group {
	g := &group{
		Group:   id,
		plain:   make(map[string]*method),
		apart:   make(map[methodKey]*method),
		methods: make(map[methodspan.Function]*method),
		unknown: t.unknown,
		limits:  t.limits.of(id, sender),
		sender:  sender,
	}
	if t.meter != nil {
		g.callers = make(map[string]*method)
	}
	g.overflow = t.newMethod(g, methodspan.Function{Method: decide.OverflowMethod}, decide.OverflowMethod)
	return g
}

func (t *methodTable) newMethod(g *group, f methodspan.Function, name string) *method {
	m := &method{group: g, function: f, name: name}
	m.rule, m.fixed = t.rules.find(f)
	m.decision = t.first(m)
	return m
}

// first returns what holds for a method until the strategy has decided about it.
func (t *methodTable) first(m *method) *decision {
	if m.group.unknown == nil || !m.fixed.open {
		return m.fixed
	}
	if m.rule == nil && m.group.overflow != nil && !t.keepsCold(m.group.unknown) {
		return m.group.overflow.decision
	}
	bounds := t.rules.bounds(m.rule)
	d := t.prepare.learned(t.undecided(m, m.group.unknown), m.fixed, m.fixed, bounds)
	if d.learned && !d.off() {
		d.cold = bounds.Bound(1)
	}
	return d
}

// keepsCold reports whether the limit bounds what methods without a decision keep, so
// that nothing else has to.
func (t *methodTable) keepsCold(unknown *decide.Decision) bool {
	return t.limits.service > 0 && !t.thinsCold && unknown.Reason != decide.ReasonOverflow
}

// undecided returns what holds for a method that the strategy has not named, of what it
// says of such methods.
func (t *methodTable) undecided(m *method, unknown *decide.Decision) *decide.Decision {
	if m.decided != 0 || m == m.group.overflow || !t.keepsCold(unknown) {
		return unknown
	}
	all := *unknown
	all.P = 1
	return &all
}

func (m *method) key() decide.Key {
	return decide.Key{Group: m.group.Group, Class: m.function.Class, Method: m.function.Method, Signature: m.function.Signature}
}

// adopt puts another state of the method file in force: its modes and bounds at
// once, the rates inside them as the strategy says from the next step on.
func (t *methodTable) adopt(r *rules) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = r
	if t.overflowGroup == nil {
		t.overflowGroup = t.newGroup(decide.Group{Service: methodspan.Overflow}, "")
	}
	for m := range t.all() {
		m.rule, m.fixed = r.find(m.function)
		m.decision = t.prepare.bounded(m.decision, m.fixed, r.bounds(m.rule))
		m.group.changed = true
	}
}

// all gives the methods, the shared places among them. t.mu is held.
func (t *methodTable) all() iter.Seq[*method] {
	return func(yield func(*method) bool) {
		for g := range t.everyGroup() {
			if !yield(g.overflow) {
				return
			}
			for _, m := range g.methods {
				if !yield(m) {
					return
				}
			}
		}
	}
}

func (t *methodTable) everyGroup() iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for _, g := range t.groups {
			if !yield(g) {
				return
			}
		}
		yield(t.overflowGroup)
	}
}

// find returns the place of a method by its key, nil if it has none. t.mu is held.
func (t *methodTable) find(key decide.Key) *method {
	g, ok := t.groups[key.Group]
	if !ok && key.Group == t.overflowGroup.Group {
		g, ok = t.overflowGroup, true
	}
	if !ok {
		return nil
	}
	f := functionOf(key)
	if f == g.overflow.function {
		return g.overflow
	}
	return g.methods[f]
}
