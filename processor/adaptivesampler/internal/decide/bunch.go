package decide

// bunch is how many calls come together: the variance of an interval's calls by their mean, 1
// by Poisson's law. It follows from how far intervals are from the ones before them, because a
// level that has moved is off for long and no bunch.
type bunch struct{ Mean, Intervals float64 }

const (
	// The last so many intervals with calls make the mean of a method, and of a service.
	bunchMethod, bunchService = 64, 1024
	// bunchPrior is how many intervals the service counts for beside a method's own.
	bunchPrior = 8
	// bunchMost is how many times what was known one interval counts for at most: a step of
	// the level is off by far more.
	bunchMost = 8
)

func (b *bunch) observe(calls, before, scale float64, usual *bunch) {
	if calls+before == 0 {
		return
	}
	off := calls - before
	off = min(off*off/max((calls+before)*scale, 1), bunchMost*b.size(usual))
	b.add(off, bunchMethod)
	usual.add(off, bunchService)
}

func (b *bunch) add(off, most float64) {
	b.Intervals = min(b.Intervals+1, most)
	b.Mean += (off - b.Mean) / b.Intervals
}

// size is that of a method.
func (b *bunch) size(usual *bunch) float64 {
	return max(1, (b.Mean*b.Intervals+max(1, usual.Mean)*bunchPrior)/(b.Intervals+bunchPrior))
}

func (m *method) bunch() float64 { return m.calls.Bunch.size(&m.version.service.bunch) }

func (b *bunch) state() [2]float64 { return [2]float64{b.Mean, b.Intervals} }
