package report

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const (
	maxDepth  = 24    // frames of a tree
	leastPart = 0.002 // of the service's time; narrower boxes can't be seen
	maxNodes  = 4000  // of a tree
)

// unknownCaller is the root of calls whose caller is not known.
const unknownCaller = "(caller unknown)"

type edgesOf map[string][]query.Edge // by caller

// trees unfolds who pays whom into trees. An edge knows one caller only, so what
// a method pays its callees below a certain chain is taken to be its usual part:
// each of its callees in proportion to the method's whole time there.
//
// They are those of the top services by time (0 = all); left is how many there are beyond.
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

// children are the callees of one place in the tree; part is the share of the
// caller's whole time that is spent in this place. Each is an estimate of its own:
// together they may be estimated at more than the room there is, and are shrunk to
// it then.
func (u *unfolder) children(edges []query.Edge, part, room float64, path []string) []*Node {
	edges = slices.Clone(edges)
	slices.SortFunc(edges, func(a, b query.Edge) int {
		return cmp.Or(cmp.Compare(b.X, a.X), cmp.Compare(a.Callee, b.Callee))
	})
	// A method below itself is in its own time already.
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
