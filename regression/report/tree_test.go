package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
)

func edge(caller, callee string, ns float64) query.Edge {
	return query.Edge{Service: query.Service{Name: "shop"}, Caller: caller, Callee: callee, X: ns}
}

func show(nodes []*Node) string {
	text := ""
	for _, n := range nodes {
		text += fmt.Sprintf("%s %.0f", n.Name, n.NS)
		if len(n.Children) > 0 {
			text += " (" + show(n.Children) + ")"
		}
		text += "; "
	}
	return text
}

func TestTrees(t *testing.T) {
	entry := methodspan.CallerEntry
	for _, test := range []struct {
		name  string
		edges []query.Edge
		want  string
	}{
		{"callees below their callers, the most expensive first",
			[]query.Edge{edge(entry, "a", 100), edge("a", "b", 20), edge("a", "c", 60)}, "a 100 (c 60; b 20; ); "},
		{"what a shared callee pays is shared by its time below each caller",
			[]query.Edge{edge(entry, "a", 100), edge(entry, "b", 50), edge("a", "c", 30), edge("b", "c", 10), edge("c", "d", 20)},
			"a 100 (c 30 (d 15; ); ); b 50 (c 10 (d 5; ); ); "},
		{"recursion is in the method's own time",
			[]query.Edge{edge(entry, "a", 100), edge("a", "a", 80), edge("a", "b", 40), edge("b", "a", 10)}, "a 100 (b 36; ); "},
		{"unknown callers have a root of their own",
			[]query.Edge{edge(entry, "a", 100), edge("", "b", 50)}, "a 100; (caller unknown) 50 (b 50; ); "},
		{"what is too thin to be seen is left out",
			[]query.Edge{edge(entry, "a", 100000), edge(entry, "b", 1)}, "a 100000; "},
	} {
		found, _ := trees(test.edges, 0)
		if len(found) != 1 || show(found[0].Roots) != test.want {
			t.Errorf("%s: %s, want %s", test.name, show(found[0].Roots), test.want)
		}
	}
	if found, left := trees(nil, 30); len(found) != 0 || left != 0 {
		t.Errorf("trees of nothing: %v", found)
	}
}

// With random call graphs: children never take more time than their parent, and depth and size are bounded.
func TestTrees_Bounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 200 {
		methods := 2 + rng.IntN(40)
		var edges []query.Edge
		for i := range methods {
			if rng.IntN(3) == 0 {
				edges = append(edges, edge(methodspan.CallerEntry, fmt.Sprint(i), rng.ExpFloat64()*1e6))
			}
			for range rng.IntN(6) {
				edges = append(edges, edge(fmt.Sprint(i), fmt.Sprint(rng.IntN(methods)), rng.ExpFloat64()*1e6))
			}
		}
		found, _ := trees(edges, 0)
		for _, tree := range found {
			nodes := 0
			tree.each(func(n *Node, level int) {
				nodes++
				below := 0.0
				for _, child := range n.Children {
					below += child.NS
				}
				if below > n.NS*(1+1e-9) || level >= maxDepth {
					t.Errorf("%v below %v of %s at level %d", below, n.NS, n.Name, level)
				}
			})
			if nodes > maxNodes {
				t.Errorf("%d nodes", nodes)
			}
		}
	}
}
