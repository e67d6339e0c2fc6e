package probecost

import "math"

// depth is how far down the calls below a method are followed.
const depth = 24

// Edge is what one method called of another: calls, and probes of these.
type Edge struct {
	Caller, Callee string
	Calls          float64
	Probes         Calls
}

// Below returns the probes in all calls below each method. Those of a callee of several
// callers are shared out by calls. methods has the calls of each method.
func Below(edges []Edge, methods map[string]float64) map[string]Calls {
	own := map[string]Calls{}
	for _, e := range edges {
		if e.Caller != "" && e.Caller != e.Callee {
			own[e.Caller] = own[e.Caller].Add(e.Probes)
		}
	}
	whole := own
	for range depth {
		next := make(map[string]Calls, len(whole))
		for method, n := range own {
			next[method] = n
		}
		for _, e := range edges {
			if e.Caller != "" && e.Caller != e.Callee && methods[e.Callee] > 0 {
				next[e.Caller] = next[e.Caller].Add(whole[e.Callee].Times(e.Calls / methods[e.Callee]))
			}
		}
		changed := false
		for method, n := range next {
			was := whole[method]
			for _, pair := range [3][2]float64{{n.CPU, was.CPU}, {n.Wall, was.Wall}, {n.Counted, was.Counted}} {
				changed = changed || math.Abs(pair[0]-pair[1]) > 1e-9*pair[0]
			}
		}
		if whole = next; !changed {
			break
		}
	}
	return whole
}
