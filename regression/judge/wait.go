package judge

// patience is for how many slots of the head version a caller waits for its callees.
const patience = 8

// wait lowers to Pending what grew mostly by what it pays to callees of which too
// little is known yet: they may be raised in a slot or two, and explain it then. What
// was seen in too few of many slots is called now and then, and nobody waits for it.
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
		for callee := range methods {
			if callee != m && methods[callee].verdict.State == FewSlots {
				e, _ := f.excess(m, callee)
				unknown += e
			}
		}
		if own > 0 && unknown > own/2 {
			methods[m].verdict.State = Pending
		}
	}
}
