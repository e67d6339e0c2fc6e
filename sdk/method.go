package corehour

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/otlp"
	"github.com/corehour/corehour/sdk/internal/spans"
)

// maxMethods bounds the registry. A program that invents names would otherwise grow it without
// end; methods beyond the bound stay off and are counted.
const maxMethods = 1 << 16

// Method is one probed method. Create it once, at package level, with NewMethod.
//
// A call that is not timed uses the first 64 bytes only, and the line of its counter if there are
// several: in a program with many methods each additional line is a cache miss.
type Method struct {
	plan     atomic.Pointer[plan]        // nil while the method is off
	counters atomic.Pointer[callCounter] // the first counter
	mask     atomic.Uint64               // a power of two less one; there are more counters than that
	first    callCounter

	name      string
	signature string // from the build; "" = unknown
	owner     callers.Owner

	shards  atomic.Pointer[[]shard] // nil until the method is busy, then used instead of first
	located atomic.Bool             // its function was seen on a stack, and its callees are activated
	node    *graphNode              // its node in the build's call graph; nil = unknown

	cpu     cpuslots.Holder
	lastCPU atomic.Int64 // of a timed call, in ns; 0 = none yet
	waits   atomic.Bool  // a timed call has waited

	// The rest is guarded by registry.mu.
	options       methodOptions
	wallOnly      string // reason why its CPU is not timed; "" = it is timed
	reportedCalls int64  // calls already cut into an interval
	tailFrom      int64  // the threshold of its tail
	halvings      int    // of its default rate, see budget
	budgeted      int64  // calls at the last evaluation of the budget
	wanted        float64
}

var registry = struct {
	mu      sync.Mutex
	byName  map[string]*Method
	ordered []*Method
	refused int64
	engine  *engine // nil while stopped
	graph   callGraph
}{byName: map[string]*Method{}}

// NewMethod returns the method with this name, the fully qualified name of a function such as
// "shop/cart.(*Cart).Total". The same name returns the same Method; its first options count.
func NewMethod(name string, options ...MethodOption) *Method {
	name = methodName(name)
	wanted := collect(options)

	registry.mu.Lock()
	defer registry.mu.Unlock()
	if m, ok := registry.byName[name]; ok {
		if len(options) > 0 && !wanted.same(m.options) {
			messages.Logf("method %q was made twice with different options; the first ones hold", name)
		}
		return m
	}
	m := new(Method)
	m.register(name, wanted)
	return m
}

// register adds the method to the registry, unless the name is taken. registry.mu is held.
func (m *Method) register(name string, wanted methodOptions) {
	m.name, m.owner.Name, m.options, m.tailFrom = name, callers.Normal(name), wanted, never
	for _, fault := range wanted.faults {
		messages.Logf("method %q: %s", name, fault)
	}
	if len(registry.ordered) >= maxMethods || name == "" || registry.byName[name] != nil {
		registry.refused++
		messages.Logf("method %q stays off: %s", name, refusal(name))
		return
	}
	m.prepare()
	registry.byName[name] = m
	registry.ordered = append(registry.ordered, m)
	if m.node = registry.graph[m.owner.Name]; m.node != nil {
		m.node.method.Store(m)
	}
	if registry.engine != nil {
		registry.engine.updatePlan(m)
	}
}

// methodName bounds a name given by the program and replaces bytes that cannot be sent.
func methodName(name string) string {
	name = otlp.Text(name)
	if len(name) > maxNameLength {
		name = otlp.Text(name[:maxNameLength])
	}
	return name
}

const maxNameLength = 1024

func refusal(name string) string {
	if name == "" {
		return "a method needs a name"
	}
	if registry.byName[name] != nil {
		return "it has a probe already"
	}
	return fmt.Sprintf("a program may have %d methods", maxMethods)
}

// prepare allocates the probe's data once a method can be on.
func (m *Method) prepare() {
	m.counters.Store(&m.first)
	m.owner.Attribute = callerAttribute(m.owner.Name)
	m.owner.On = m.on
	m.owner.Declare()
}

func callerAttribute(name string) []byte {
	return otlp.StringAttribute(nil, otlp.SpanAttributes, spans.AttrCaller, name)
}

func init() { callers.Entry.Attribute = callerAttribute(callers.Entry.Name) }

// on reports whether the method is on.
func (m *Method) on() bool { return m.plan.Load() != nil }

// locate finds at the first call the function that holds the probe, and activates the methods that
// are parked until this one runs.
//
//go:noinline
func (m *Method) locate() {
	var pcs [1]uintptr
	if runtime.Callers(framesToCaller+1, pcs[:]) == 1 {
		m.owner.Locate(pcs[0])
	}
	if m.node != nil {
		for _, callee := range m.node.callees {
			callee.activate()
		}
	}
	m.located.Store(true)
}

// Name returns the name given to NewMethod.
func (m *Method) Name() string { return m.name }

// Calls returns the number of calls while the method was on.
func (m *Method) Calls() int64 {
	total := m.first.n.Load()
	if shards := m.shards.Load(); shards != nil {
		for i := range *shards {
			total += (*shards)[i].n.Load()
		}
	}
	return total
}

// releasePlans drops references to plans that are no longer used, and so to their engine.
func (m *Method) releasePlans() {
	m.first.releasePlan()
	if shards := m.shards.Load(); shards != nil {
		for i := range *shards {
			(*shards)[i].releasePlan()
		}
	}
}

// counterCount returns the number of counters of the method.
func (m *Method) counterCount() int {
	if shards := m.shards.Load(); shards != nil {
		return len(*shards)
	}
	return 1
}

// shardCounters gives a busy method one counter per shard, once. The first counter keeps its value
// and stays part of the sum: a call may be about to increment it.
func (m *Method) shardCounters(shards int) {
	if m.shards.Load() != nil {
		return
	}
	counters := make([]shard, shards)
	m.shards.Store(&counters)
	if pl := m.plan.Load(); pl != nil {
		pl.shardMarks()
	}
	m.counters.Store(&counters[0].callCounter)
	m.mask.Store(uint64(shards - 1)) // last: calls read it first, and must never find fewer counters
}
