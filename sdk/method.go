package corehour

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
)

// maxMethods bounds the registry. A program that makes up names would otherwise
// grow it without end; methods beyond the bound stay off and are counted.
const maxMethods = 1 << 16

// Method is one probed method. Make it once, at package level, with NewMethod.
type Method struct {
	plan atomic.Pointer[plan] // nil while the method is off

	name       string
	normal     string // class.method
	callerAttr []byte // the encoded corehour.caller attribute naming this method

	calls   atomic.Pointer[[]callCounter] // grows once, from one to a shard per stack
	first   [1]callCounter
	located atomic.Bool // its function has been seen on a stack, and its callees are on
	node    *graphNode  // what it calls, as its build found out; nil = unknown

	cpu         cpuslots.Holder
	lastCPU     atomic.Int64 // of a timed call, in ns; 0 = none yet
	waits       atomic.Bool  // a timed call has waited
	callerCache [callerCacheSize]atomic.Pointer[cachedStack]

	// The rest is guarded by registry.mu.
	options       methodOptions
	wallOnly      string // why its CPU is no longer timed; "" = it is
	reportedCalls int64  // calls already cut into an interval
	tailFrom      int64  // the threshold of its tail
	halvings      int    // of its default rate, see budget
	budgeted      int64  // calls when the budget was looked at last
	wanted        float64
}

// callCounter has a cache line to itself: two goroutines that count on one line
// take five times as long.
type callCounter struct {
	n atomic.Int64
	_ [56]byte
}

var registry = struct {
	mu      sync.Mutex
	byName  map[string]*Method
	ordered []*Method
	refused int64
	engine  *engine // nil while stopped
	graph   callGraph
}{byName: map[string]*Method{}}

// NewMethod returns the method of this name, the fully qualified name of a
// function such as "shop/cart.(*Cart).Total". The same name gives the same
// Method; the options given first win.
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

// register makes the method known by its name, unless the name is taken. registry.mu is held.
func (m *Method) register(name string, wanted methodOptions) {
	m.name, m.normal, m.options, m.tailFrom = name, normalName(name), wanted, never
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
	if m.node = registry.graph[m.normal]; m.node != nil {
		m.node.method.Store(m)
	}
	if registry.engine != nil {
		registry.engine.updatePlan(m)
	}
}

func refusal(name string) string {
	if name == "" {
		return "a method needs a name"
	}
	if registry.byName[name] != nil {
		return "it has a probe already"
	}
	return fmt.Sprintf("a program may have %d methods", maxMethods)
}

// prepare makes what the probe needs once a method may be on.
func (m *Method) prepare() {
	counters := m.first[:]
	m.calls.Store(&counters)
	m.callerAttr = callerAttribute(m.normal)
	declareFunction(m)
}

// Name returns the name given to NewMethod.
func (m *Method) Name() string { return m.name }

// Calls returns how often the method has begun while it was on.
func (m *Method) Calls() int64 {
	counters := m.calls.Load()
	if counters == nil {
		return 0
	}
	total := int64(0)
	for i := range *counters {
		total += (*counters)[i].n.Load()
	}
	if len(*counters) > 1 {
		total += m.first[0].n.Load()
	}
	return total
}

// shardCounters gives a busy method a counter per shard, once. The first counter keeps
// its value and stays part of the sum: a call may still be about to increment it.
func (m *Method) shardCounters(shards int) {
	if len(*m.calls.Load()) > 1 {
		return
	}
	counters := make([]callCounter, shards)
	m.calls.Store(&counters)
}
