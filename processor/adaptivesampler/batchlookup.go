package adaptivesampler

import (
	"math"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// batchLookup looks up the methods of one batch. It holds the table's read lock until end, which is cheaper
// than locking for each span. New groups and methods stay in batchLookup until then.
type batchLookup struct {
	table      *methodTable
	sender     string
	group      *group
	newGroups  map[decide.Group]*group
	newMethods map[newMethodKey]*method
	overflow   int64 // spans whose method shares an overflow place
}

type newMethodKey struct {
	group *group
	key   methodKey
}

func (t *methodTable) begin(sender string) batchLookup {
	t.mu.RLock()
	return batchLookup{table: t, sender: sender}
}

// enter selects the group of the next spans. price is the price of a core hour of their resource.
func (r *batchLookup) enter(id decide.Group, price float64) {
	r.group = r.groupOf(id)
	if r.group.sender != r.sender && r.group.other.Load() == nil {
		sender := r.sender
		r.group.other.Store(&sender)
	}
	if price > 0 {
		r.group.usd.Store(math.Float64bits(price))
	}
}

func (r *batchLookup) groupOf(id decide.Group) *group {
	if g, ok := r.table.groups[id]; ok {
		return g
	}
	if g, ok := r.newGroups[id]; ok {
		return g
	}
	size := len(id.Namespace) + len(id.Service) + len(id.Environment) + len(id.Version)
	if full, _ := r.table.fullFor(r.sender, len(r.newGroups), 0); full || size > maxName {
		return r.table.overflowGroup
	}
	if r.newGroups == nil {
		r.newGroups = make(map[decide.Group]*group)
	}
	g := r.table.newGroup(id, r.sender)
	r.newGroups[id] = g
	return g
}

// beginTakeover records that the service uses rates that a collector served. If the service is new in this
// table, another collector served them.
func (r *batchLookup) beginTakeover(now time.Time) {
	if r.newGroups[r.group.Group] == r.group {
		r.group.takeover.begin(now)
	}
}

// lookup returns the method of key and the decision for its spans.
func (r *batchLookup) lookup(key methodKey) (*method, *decision) {
	g := r.group
	if key.isQualified() {
		if m, ok := g.plain[key.Class]; ok {
			return m, m.decision
		}
	} else if m, ok := g.apart[key]; ok {
		return m, m.decision
	}
	return r.lookupNew(key)
}

func (r *batchLookup) lookupNew(key methodKey) (*method, *decision) {
	g := r.group
	if m, ok := r.newMethods[newMethodKey{g, key}]; ok {
		return m, m.decision
	}
	f := key.parse()
	if f == g.overflow.function {
		return g.overflow, g.overflow.decision
	}
	m, known := g.methods[f] // known under another spelling
	if _, full := r.table.fullFor(g.sender, 0, len(r.newMethods)); full || g == r.table.overflowGroup || key.len() > maxName {
		if known {
			return m, m.decision
		}
		r.overflow++
		return g.overflow, r.overflowDecision(f)
	}
	if r.newMethods == nil {
		r.newMethods = make(map[newMethodKey]*method)
	}
	if !known {
		m = r.table.newMethod(g, f, key.name())
	}
	r.newMethods[newMethodKey{g, key}] = m
	return m, m.decision
}

// overflowDecision returns the decision for a method that shares the overflow place: the decision of the method file if
// it sets one, else the decision of the group's overflow place.
func (r *batchLookup) overflowDecision(f methodspan.Function) *decision {
	rule, fixed := r.table.rules.find(f)
	if fixed.off() || rule != nil && rule.Rate > 0 {
		return fixed
	}
	return r.group.overflow.decision
}

// end unlocks the table and adds the new groups and methods to it. Names are cloned, because those in the batch
// share its memory.
func (r *batchLookup) end(now time.Time) {
	t := r.table
	t.mu.RUnlock()
	if len(r.newMethods) == 0 && len(r.newGroups) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	homes := make(map[*group]*group, len(r.newGroups))
	for _, g := range r.newGroups {
		homes[g] = t.installGroup(g)
	}
	for at, m := range r.newMethods {
		home, ok := homes[at.group]
		if !ok {
			home = t.homeOf(at.group)
			homes[at.group] = home
		}
		t.place(home, at.key, m, now)
	}
}

// homeOf returns g if it is still in the table, else its replacement: g can be evicted after the table is
// unlocked. t.mu must be held.
func (t *methodTable) homeOf(g *group) *group {
	if g == t.overflowGroup || t.groups[g.Group] == g {
		return g
	}
	return t.installGroup(g)
}

// installGroup adds g and returns it. If another batch has added a group of that name in the meantime,
// installGroup returns that group. t.mu must be held.
func (t *methodTable) installGroup(g *group) *group {
	home, ok := t.groups[g.Group]
	full, _ := t.fullFor(g.sender, 0, 0)
	switch {
	case ok:
	case full:
		home = t.overflowGroup
	default:
		home = t.newGroup(cloneGroup(g.Group), strings.Clone(g.sender))
		t.groupsAdded++
		home.ordinal = t.groupsAdded
		home.takeover.until.Store(g.takeover.until.Load())
		t.groups[home.Group] = home
		t.addHolding(home.sender, 1, 0)
	}
	if g.takeover.until.Load() == hasReported {
		home.takeover.reported()
	}
	home.overflow.merge(g.overflow)
	if g.price() > 0 { // as in enter
		home.usd.Store(g.usd.Load())
	}
	return home
}

// place adds a method under one spelling. t.mu must be held.
func (t *methodTable) place(g *group, key methodKey, m *method, now time.Time) {
	home, ok := g.methods[m.function]
	_, full := t.fullFor(g.sender, 0, 0)
	switch {
	case !ok && (full || g == t.overflowGroup):
		home = g.overflow
	case !ok:
		key = key.clone()
		home = t.newMethod(g, key.parse(), key.name())
		home.faded = now
		g.methods[home.function] = home
		g.changed = true
		t.addSpelling(g, key, home)
	case !full && !g.hasSpelling(key):
		t.addSpelling(g, key.clone(), home)
	}
	if home != m {
		home.merge(m)
	}
}

// isQualified reports whether the key is only a qualified name.
func (k methodKey) isQualified() bool { return k.Method == "" && k.signature == "" }

func (g *group) hasSpelling(key methodKey) bool {
	if key.isQualified() {
		return g.plain[key.Class] != nil
	}
	return g.apart[key] != nil
}

// addSpelling adds a spelling of a method. The table bounds spellings, not methods, because one method can have any
// number of them.
func (t *methodTable) addSpelling(g *group, key methodKey, m *method) {
	t.count++
	t.addHolding(g.sender, 0, 1)
	m.spellings++
	if key.isQualified() {
		g.plain[key.Class] = m
	} else {
		g.apart[key] = m
	}
	if g.callers != nil {
		g.callers[m.function.Full()] = m
	}
}

// merge moves the sums of from, a discarded instance of the method, to m. Several batches can bring the same
// instance: its sums are added once.
func (m *method) merge(from *method) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.addMethodSums(&from.now)
	from.now = methodSums{}
	m.used = max(m.used, from.used)
	if from.arrived > 0 {
		m.arrived = from.arrived
	}
	if from.operation != "" {
		m.operation = from.operation
	}
	if held := from.held.Load(); held != nil {
		m.held.CompareAndSwap(nil, held)
	}
	m.foreign = m.foreign || from.foreign
	m.ours = m.ours || from.ours
}

func cloneGroup(g decide.Group) decide.Group {
	return decide.Group{
		Namespace: strings.Clone(g.Namespace), Service: strings.Clone(g.Service),
		Environment: strings.Clone(g.Environment), Version: strings.Clone(g.Version),
	}
}
