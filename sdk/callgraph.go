package corehour

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/methodfile"
)

// callGraph is what methods call, directly or through functions without a probe, by class.method:
// `corehour go build` compiles it in for scopes. A method that an entry with scope lazy reaches is
// parked, off with its plan ready, until a method that is on and calls it runs for the first time.
type callGraph map[string]*graphNode

// graphNode is a method of the graph, which its package may not have declared yet.
type graphNode struct {
	normal  string
	callees []*graphNode
	method  atomic.Pointer[Method]
	called  atomic.Bool          // a caller that is on has run; it stays so
	parked  atomic.Pointer[plan] // what the method does once it is called; nil = that is not awaited
	since   atomic.Int64         // when it was first switched on for that, as now() counts; 0 = never

	root *methodfile.Settings // of the entry with scope lazy that reaches it; guarded by registry.mu
}

// parseCallGraph reads the table of a build: a heading, a line for each package and one for each of its
// functions, which begins with a dot: its name, and the places of its callees among all functions, in base 36.
func parseCallGraph(table string) callGraph {
	g := callGraph{}
	var nodes []*graphNode
	var callees [][]string
	pkg := ""
	for line := range strings.Lines(strings.TrimSuffix(table, "\x00")) {
		words := strings.Fields(line)
		if line[0] != '.' {
			pkg = words[0]
			continue
		}
		n := &graphNode{normal: callers.Normal(methodName(pkg + words[0]))}
		g[n.normal] = n
		nodes, callees = append(nodes, n), append(callees, words[1:])
	}
	for i, n := range nodes {
		for _, place := range callees[i] {
			if at, err := strconv.ParseUint(place, 36, 32); err == nil && at < uint64(len(nodes)) {
				n.callees = append(n.callees, nodes[at])
			}
		}
	}
	return g
}

// follow gives the methods that entries with scope lazy reach the settings of that entry, the first of
// several. file may be nil. registry.mu is held.
func (g callGraph) follow(file *methodfile.File) {
	var roots []*graphNode
	settings := map[*graphNode]*methodfile.Settings{}
	for _, n := range g {
		n.root = nil
		if file == nil {
			continue
		}
		if s, entered := file.Lookup(n.normal, ""); entered && s.Lazy > 0 {
			roots, settings[n] = append(roots, n), &s
		}
	}
	slices.SortFunc(roots, func(a, b *graphNode) int { return cmp.Compare(settings[a].Lazy, settings[b].Lazy) })
	for _, n := range roots {
		n.reach(settings[n])
	}
}

func (n *graphNode) reach(root *methodfile.Settings) {
	for _, callee := range n.callees {
		if callee.root == nil {
			callee.root = root
			callee.reach(root)
		}
	}
}

// activate notes that a caller that is on runs, and switches the method on if it is parked. It
// blocks nothing, as it is part of a call: it repeats what it did if another plan is parked meanwhile.
func (n *graphNode) activate() {
	if !n.called.Load() {
		n.called.Store(true)
	}
	m, pl := n.method.Load(), n.parked.Load()
	if m == nil || pl == nil || m.plan.Load() != nil {
		return
	}
	n.since.CompareAndSwap(0, now()) // before a call is counted
	for installed := (*plan)(nil); pl != installed; pl = n.parked.Load() {
		if !m.plan.CompareAndSwap(installed, pl) {
			return
		}
		installed = pl
		callers.Switched()
	}
}

// switchedOn returns when a caller first switched the method on, in Unix ns; 0 = none has.
func (e *engine) switchedOn(m *Method) int64 {
	if m.node == nil || m.node.since.Load() == 0 {
		return 0
	}
	return e.unix(m.node.since.Load())
}

// justActivated is how long rows say that a caller has switched their method on.
const justActivated = time.Minute

// activated reports whether a caller first switched the method on less than justActivated before a
// time, in Unix ns.
func (e *engine) activated(m *Method, at int64) bool {
	on := e.switchedOn(m)
	return on != 0 && at-on < int64(justActivated)
}

// park puts a plan where the method gets it once it is called; nil = that is not awaited.
// registry.mu is held.
func (n *graphNode) park(pl *plan) {
	if old := n.parked.Swap(pl); old != nil && old != pl {
		old.openShards(minuteOf(engineOf(old).unix(now())), false)
	}
}
