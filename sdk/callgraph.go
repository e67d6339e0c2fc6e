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

// callGraph maps class.method to its node. Edges are calls, directly or through functions without
// a probe. `corehour go build` compiles the graph in for scopes. A method that an entry with scope
// lazy reaches is parked: off, with its plan ready, until a caller that is on runs for the first time.
type callGraph map[string]*graphNode

// graphNode is a method of the graph. Its package may not have declared the method yet.
type graphNode struct {
	normal  string
	callees []*graphNode
	method  atomic.Pointer[Method]
	called  atomic.Bool          // a caller that is on has run; it stays so
	parked  atomic.Pointer[plan] // plan to install when a caller runs; nil = not parked
	since   atomic.Int64         // first activation by a caller, in now()'s time; 0 = never

	root *methodfile.Settings // of the entry with scope lazy that reaches it; guarded by registry.mu
}

// parseCallGraph parses the table of a build: a heading, a line for each package, and a line for each of
// its functions. A function's line is a dot and its name, then the indexes of its callees in base 36.
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

// follow assigns to each method reached by an entry with scope lazy the settings of that entry, of
// several the first. file can be nil. registry.mu is held.
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

// activate records that a caller that is on runs, and switches the method on if it is parked. It is
// part of a call, so it never blocks: it installs again if another plan was parked meanwhile.
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

// switchedOn returns the time at which a caller first activated the method, in Unix ns; 0 = never.
func (e *engine) switchedOn(m *Method) int64 {
	if m.node == nil || m.node.since.Load() == 0 {
		return 0
	}
	return e.unix(m.node.since.Load())
}

// justActivated is the time after an activation during which rows are marked as activated.
const justActivated = time.Minute

// activated reports whether a caller first activated the method less than justActivated before at,
// in Unix ns.
func (e *engine) activated(m *Method, at int64) bool {
	on := e.switchedOn(m)
	return on != 0 && at-on < int64(justActivated)
}

// park stores the plan that the method gets when a caller runs; nil = not parked. registry.mu is held.
func (n *graphNode) park(pl *plan) {
	if old := n.parked.Swap(pl); old != nil && old != pl {
		old.openShards(minuteOf(engineOf(old).unix(now())), false)
	}
}
