package decide

// burstiness is the index of dispersion of a method's calls: the variance of an interval's
// calls divided by their mean, 1 for a Poisson process. It is estimated from the differences
// of successive intervals, because a level that has moved is not a burst.
type burstiness struct{ Mean, Intervals float64 }

const (
	// Numbers of intervals with calls over which the mean of a method, and of a service, is formed.
	methodIntervals, serviceIntervals = 64, 1024
	// priorIntervals is the weight of the service's value, in intervals, in addition to a
	// method's own.
	priorIntervals = 8
	// maxIntervalFactor bounds one interval relative to the known burstiness: a step of the level
	// differs by far more.
	maxIntervalFactor = 8
)

func (b *burstiness) observe(calls, before, scale float64, usual *burstiness) {
	if calls+before == 0 {
		return
	}
	off := calls - before
	off = min(off*off/max((calls+before)*scale, 1), maxIntervalFactor*b.size(usual))
	b.addInterval(off, methodIntervals)
	usual.addInterval(off, serviceIntervals)
}

func (b *burstiness) addInterval(off, most float64) {
	b.Intervals = min(b.Intervals+1, most)
	b.Mean += (off - b.Mean) / b.Intervals
}

// size returns the burstiness of a method, shrunk towards that of its service.
func (b *burstiness) size(usual *burstiness) float64 {
	return max(1, (b.Mean*b.Intervals+max(1, usual.Mean)*priorIntervals)/(b.Intervals+priorIntervals))
}

func (m *method) burstiness() float64 { return m.calls.Burstiness.size(&m.version.service.burstiness) }

func (b *burstiness) state() [2]float64 { return [2]float64{b.Mean, b.Intervals} }
