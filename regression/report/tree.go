package report

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const (
	maxDepth  = 24    // levels of a tree
	leastPart = 0.002 // smallest share of the service's time; narrower boxes are invisible
	maxNodes  = 4000  // nodes of a tree
)

// unknownCaller is the root of calls whose caller is unknown.
const unknownCaller = "(caller unknown)"

type edgesOf map[string][]query.Edge // by caller

// trees unfolds the edges between callers and callees into call trees. An edge knows its direct caller only. So
// the time of a callee below a chain of callers is estimated in proportion to the caller's inclusive time there.
//
// The result contains the top services by time (0 = all); left is the number of the others.
func trees(edges []query.Edge, top int) (out []Tree, left int) {
	byService := map[query.Service]edgesOf{}
	whole := map[query.Service]map[string]float64{}
	for _, e := range edges {
		if byService[e.Service] == nil {
			byService[e.Service], whole[e.Service] = edgesOf{}, map[string]float64{}
		}
		byService[e.Service][e.Caller] = append(byService[e.Service][e.Caller], e)
		if e.Caller != e.Callee {
			whole[e.Service][e.Callee] += e.X
		}
	}
	for service, below := range byService {
		t := Tree{Service: service}
		for _, e := range append(slices.Clone(below[methodspan.CallerEntry]), below[""]...) {
			t.TotalNS += e.X
		}
		if t.TotalNS > 0 {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Tree) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.String(), b.String()))
	})
	out, left = output.First(out, top)
	for i := range out {
		t := &out[i]
		below := byService[t.Service]
		u := unfolder{below: below, whole: whole[t.Service], least: leastPart * t.TotalNS, left: maxNodes}
		t.Roots = u.children(below[methodspan.CallerEntry], 1, t.TotalNS, nil)
		if lost := below[""]; len(lost) > 0 {
			root := &Node{Name: unknownCaller}
			for _, e := range lost {
				root.NS += e.X
			}
			root.Children = u.children(lost, 1, root.NS, nil)
			if root.NS > u.least {
				t.Roots = append(t.Roots, root)
			}
		}
	}
	return out, left
}

type unfolder struct {
	below edgesOf
	whole map[string]float64
	least float64
	left  int
}

// children returns the callees at one place in the tree; part is the share of the caller's inclusive time that is
// spent at this place. Each callee is estimated separately. If their sum exceeds room, all are scaled down to it.
func (u *unfolder) children(edges []query.Edge, part, room float64, path []string) []*Node {
	edges = slices.Clone(edges)
	slices.SortFunc(edges, func(a, b query.Edge) int {
		return cmp.Or(cmp.Compare(b.X, a.X), cmp.Compare(a.Callee, b.Callee))
	})
	// The inclusive time of a recursive method contains its nested calls already.
	edges = slices.DeleteFunc(edges, func(e query.Edge) bool { return !(e.X > 0) || slices.Contains(path, e.Callee) })
	sum := 0.0
	for _, e := range edges {
		sum += e.X * part
	}
	if sum > room {
		part *= room / sum
	}
	var out []*Node
	for _, e := range edges {
		ns := e.X * part
		if ns < u.least || u.left == 0 || len(path) >= maxDepth {
			break
		}
		u.left--
		n := &Node{Name: e.Callee, NS: ns}
		if whole := u.whole[e.Callee]; whole > 0 {
			n.Children = u.children(u.below[e.Callee], min(1, ns/whole), ns, append(path, e.Callee))
		}
		out = append(out, n)
	}
	return out
}
