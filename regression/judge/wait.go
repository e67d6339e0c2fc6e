package judge

import "strings"

// patience is for how many slots of the head version a caller waits for its callees.
const patience = 8

// wait lowers to Pending what grew mostly by what it pays to callees of which too
// little is known yet: they may be raised in a slot or two, and explain it then. What
// was seen in too few of many slots is called now and then, and nobody waits for it.
// Where no more slots come there is nothing to wait for, and the verdict says so.
func wait(x *index, methods []compared, common []float64) {
	if x.headSlots() > patience {
		return
	}
	f := newFlows(x, common)
	for m := range methods {
		if methods[m].verdict.State != Regressed {
			continue
		}
		own, _ := f.excess(m, m)
		unknown := 0.0
		var names []string
		for callee := range methods {
			if callee != m && methods[callee].verdict.State == FewSlots {
				e, _ := f.excess(m, callee)
				if e > 0 {
					names = append(names, methods[callee].name)
				}
				unknown += e
			}
		}
		if !(own > 0 && unknown > own/2) {
			continue
		}
		v := &methods[m].verdict
		if x.d.Over {
			v.Warnings = append(v.Warnings, "grew mostly by calls of what was seen in too few slots to be judged: "+strings.Join(names, ", "))
			continue
		}
		v.State, v.WaitsFor = Pending, names
	}
}
