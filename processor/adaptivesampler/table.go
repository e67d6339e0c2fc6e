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
	// maxGroups bounds the service versions with their own places.
	maxGroups = 4096

	// maxName bounds the bytes of a name. It protects memory from senders that do not pass through
	// method_spans, which bounds names, too.
	maxName = 2048
)

// group is one version of a service with the methods seen in it. Its maps change only under the table's lock.
type group struct {
	decide.Group
	plain    map[string]*method    // by qualified name, without signature
	apart    map[methodKey]*method // by any other spelling
	methods  map[methodspan.Function]*method
	callers  map[string]*method // by the normal form; nil without a strategy
	overflow *method            // shared place of the methods beyond the bound
	unknown  *decide.Decision   // the strategy's decision for methods without one of their own; nil = none
	ordinal  int64              // higher for the newer of two versions
	changed  bool               // the served table is out of date
	usd      atomic.Uint64      // price of a core hour as the bits of a float; 0 = no price
	takeover takeover
	limits   [2]*intervalLimit      // limit of the service and limit of the sender; nil = none
	sender   string                 // the sender whose share the group uses
	other    atomic.Pointer[string] // another sender of the group in this interval; nil = none
}

func (g *group) price() float64 { return math.Float64frombits(g.usd.Load()) }

// holding is the number of places that one sender occupies in the table.
type holding struct{ groups, methods int }

// shareOf returns the part of a bound that one sender can occupy: 7/8, so that it never occupies all.
func shareOf(bound int) int { return bound - bound/8 }

// roomOf returns the number of places that remain occupied after evict: 3/4 of the bound.
func roomOf(bound int) int { return bound - bound/4 }

// addHolding adds to the holding of a sender. t.mu must be held.
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

// fullFor reports whether the table, or the share of sender, has no room for more groups or methods. An unknown
// sender has no share: only the table bounds it.
func (t *methodTable) fullFor(sender string, groups, methods int) (noGroup, noMethod bool) {
	noGroup, noMethod = len(t.groups)+groups >= maxGroups, t.count+methods >= t.maxMethods
	if h := t.holders[sender]; h != nil && sender != "" {
		noGroup = noGroup || h.groups+groups >= shareOf(maxGroups)
		noMethod = noMethod || h.methods+methods >= shareOf(t.maxMethods)
	}
	return noGroup, noMethod
}

// methodTable holds all methods seen and the decisions for them.
type methodTable struct {
	maxMethods int
	prepare    *preparer
	meter      *meter // nil = no scorecard
	decides    bool   // by a strategy, which needs the own cost of methods
	limits     *intervalLimits
	thinsCold  bool // methods without a decision are thinned to the served rate

	mu            sync.RWMutex
	rules         *rules
	groups        map[decide.Group]*group
	overflowGroup *group              // holds the versions beyond the bound
	unknown       *decide.Decision    // the strategy's decision for methods of new groups
	count         int                 // number of spellings of methods
	holders       map[string]*holding // by sender
	groupsAdded   int64               // number of groups created since the start
	epoch         int64               // number of the interval
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
		limits:  t.limits.forGroup(id, sender),
		sender:  sender,
	}
	if t.decides {
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

// first returns the decision for a method until the strategy has made one.
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

// keepsCold reports whether methods without a decision are kept unthinned. That needs a limit, which bounds what
// they keep.
func (t *methodTable) keepsCold(unknown *decide.Decision) bool {
	return t.limits.service > 0 && !t.thinsCold && unknown.Reason != decide.ReasonOverflow
}

// undecided returns the decision for a method without one of its own. It is unknown, the strategy's decision for
// such methods, with probability 1 if keepsCold allows it.
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

// adopt puts a changed method file in force. Its modes and bounds apply at once. Rates within the bounds follow
// the strategy from the next step on.
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

// all iterates over the methods, including the overflow places. t.mu must be held.
func (t *methodTable) all() iter.Seq[*method] {
	return func(yield func(*method) bool) {
		for g := range t.allGroups() {
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

func (t *methodTable) allGroups() iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for _, g := range t.groups {
			if !yield(g) {
				return
			}
		}
		yield(t.overflowGroup)
	}
}

// find returns the method of a key, or nil if it has no place. t.mu must be held.
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
