package deploygen

import (
	"math/rand/v2"
	"slices"
)

// Entry is the caller of calls from outside.
const Entry = -1

// selfCall is the probability that a call of a recursive method calls the method again.
const selfCall = 0.5

// edge is a call from caller to method, once per call of the caller. The edge of a recursive method to itself
// has probability selfCall.
type edge struct {
	caller, method int
}

func (e edge) self() bool { return e.caller == e.method }

// graph is a call graph. Callers come before their callees.
type graph struct {
	edges      []edge // grouped by method; the first is the entry
	callees    [][]int
	below      [][]int // the method and all methods called below it, per call; nil if they vary
	recursive  []bool
	perRequest []float64 // expected calls of a method
}

func drawGraph(rng *rand.Rand, s Structure) graph {
	g := graph{callees: make([][]int, s.Methods), recursive: make([]bool, s.Methods), perRequest: make([]float64, s.Methods)}
	g.link(Entry, 0)
	for m := 1; m < s.Methods; m++ {
		switch s.Kind {
		case KindTree:
			g.link(rng.IntN(m), m)
		case KindSharedLeaf:
			if m < s.Methods-1 {
				g.link(0, m)
				continue
			}
			for caller := 1; caller < m; caller++ {
				g.link(caller, m)
			}
		default:
			g.link(m-1, m)
		}
		if s.Kind == KindRecursion && m == 2 {
			g.link(m, m)
		}
	}
	g.flatten()
	return g
}

func (g *graph) flatten() {
	g.below = make([][]int, len(g.callees))
	for m := len(g.callees) - 1; m >= 0; m-- {
		vary := g.recursive[m]
		below := []int{m}
		for _, callee := range g.callees[m] {
			vary = vary || g.below[callee] == nil
			below = append(below, g.below[callee]...)
		}
		if !vary {
			g.below[m] = below
		}
	}
}

// link adds an edge. All edges to a method must be added before those to the next method.
func (g *graph) link(caller, method int) {
	g.edges = append(g.edges, edge{caller, method})
	switch caller {
	case Entry:
		g.perRequest[method]++
	case method:
		g.recursive[method] = true
		g.perRequest[method] /= 1 - selfCall
	default:
		g.callees[caller] = append(g.callees[caller], method)
		g.perRequest[method] += g.perRequest[caller]
	}
}

// path returns the methods on the path from the root to one of the deepest methods.
func (g *graph) path() []int {
	depth, parent := make([]int, len(g.callees)), make([]int, len(g.callees))
	deepest := 0
	for _, e := range g.edges[1:] {
		if !e.self() && depth[e.method] == 0 {
			depth[e.method], parent[e.method] = depth[e.caller]+1, e.caller
		}
		if depth[e.method] >= depth[deepest] {
			deepest = e.method
		}
	}
	path := []int{deepest}
	for m := deepest; m != 0; {
		m = parent[m]
		path = append(path, m)
	}
	slices.Reverse(path)
	return path
}

// inclusive sets to to the expected inclusive costs of all methods, given their own costs.
func (g *graph) inclusive(own, to []float64) {
	for m := len(own) - 1; m >= 0; m-- {
		to[m] = own[m]
		for _, callee := range g.callees[m] {
			to[m] += to[callee]
		}
		if g.recursive[m] {
			to[m] /= 1 - selfCall
		}
	}
}

// changed returns the methods that where selects.
func (g *graph) changed(rng *rand.Rand, where string) []int {
	path := g.path()
	methods := len(g.callees)
	drawn := rng.Perm(methods)
	switch where {
	case Leaf:
		return path[len(path)-1:]
	case Middle:
		middle := (len(path) - 1) / 2
		return path[middle : middle+1]
	case Root:
		return path[:1]
	case Two:
		return drawn[:2]
	case Third:
		return drawn[:methods/3]
	case Half:
		return drawn[:methods/2]
	case All:
		return drawn
	}
	return nil
}
