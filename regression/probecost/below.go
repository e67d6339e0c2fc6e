package probecost

import "math"

// rounds is the maximum number of passes that propagate probes from callees to callers. A chain of calls needs as
// many passes as it has levels; recursive calls need passes until the values converge.
const rounds = 200

// Edge contains the calls from one method to another, the probes of these calls, and their inclusive time,
// 0 if none was timed.
type Edge struct {
	Caller, Callee string
	Calls, Time    float64
	Probes         Calls
}

// Method contains the number of all calls of a method and their inclusive time, 0 if none was timed.
type Method struct{ Calls, Time float64 }

// Below returns the probes in all calls below each method. The probes below a callee with several callers are
// divided by the callers' shares of its time: in recursion outer calls contain the inner ones, so shares of calls
// would count these repeatedly. Shares of calls are used only if no call of the callee was timed. The callees of a
// method never take more than its own inclusive time, nor do its probes.
func (c Costs) Below(edges []Edge, methods map[string]Method) map[string]Calls {
	g := graphOf(edges, methods)
	for range rounds {
		if !g.passOn(c) {
			break
		}
	}
	below := make(map[string]Calls, len(g.nodes))
	for name, i := range g.index {
		below[name] = g.nodes[i].below
	}
	return below
}

// node is a method: own are the probes of the calls that it makes, below adds those further down.
type node struct {
	time       float64
	own, below Calls
	again      float64 // share of its time in calls of itself
	callees    []part
}

// part is the share of a callee's probes that belongs to one caller.
type part struct {
	node  int
	share float64
}

type graph struct {
	index map[string]int
	nodes []node
}

func graphOf(edges []Edge, methods map[string]Method) *graph {
	g := &graph{index: make(map[string]int, len(methods))}
	node := func(name string) *node {
		i, ok := g.index[name]
		if !ok {
			i = len(g.nodes)
			g.index[name] = i
			g.nodes = append(g.nodes, node{time: methods[name].Time})
		}
		return &g.nodes[i]
	}
	paid := map[string]float64{}
	for _, e := range edges {
		if e.Caller != "" {
			paid[e.Caller] += e.Time
		}
	}
	for _, e := range edges {
		if e.Caller == "" {
			continue
		}
		node(e.Callee)
		n := node(e.Caller)
		n.own = n.own.Add(e.Probes)
		n.below = n.own
		share := 0.0
		if callee := methods[e.Callee]; callee.Time > 0 {
			share = e.Time / callee.Time
			if n.time > 0 && paid[e.Caller] > n.time { // possible by noise
				share *= n.time / paid[e.Caller]
			}
		} else if callee.Calls > 0 {
			share = e.Calls / callee.Calls
		}
		switch {
		case !(share > 0):
		case e.Caller == e.Callee:
			n.again += share
		default:
			n.callees = append(n.callees, part{g.index[e.Callee], share})
		}
	}
	return g
}

// passOn recomputes below of each node from its callees, and reports whether any changed.
func (g *graph) passOn(c Costs) (changed bool) {
	for i := range g.nodes {
		n := &g.nodes[i]
		below := n.own
		for _, p := range n.callees {
			below = below.Add(g.nodes[p.node].below.Times(p.share))
		}
		if n.again < 1 {
			below = below.Times(1 / (1 - n.again))
		}
		if cost := c.Total(below); n.time > 0 && (cost > n.time || n.again >= 1 && cost > 0) {
			below = below.Times(n.time / cost)
		}
		for _, pair := range [3][2]float64{{below.CPU, n.below.CPU}, {below.Wall, n.below.Wall}, {below.Counted, n.below.Counted}} {
			changed = changed || math.Abs(pair[0]-pair[1]) > 1e-9*pair[0]
		}
		n.below = below
	}
	return changed
}
