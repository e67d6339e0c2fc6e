package decide

import "time"

type serviceKey struct{ namespace, name, environment string }

// service is the common state of its versions.
type service struct {
	key      serviceKey
	versions []*version
	head     *version  // the new version that is compared, nil = none
	opened   time.Time // when its comparison began

	spread     float64 // pooled over its methods
	cost       float64 // geometric mean of its methods' mean, ns
	cpuPerWall float64 // CPU time per wall time of the methods that have both
	sums       pooled
	burstiness burstiness // of all its methods
	trim       float64    // of its budget, see allocation.trimmed
}

// version is one group of processes.
type version struct {
	group   Group
	service *service
	first   time.Time
	last    time.Time // when it was heard last
	heard   bool      // in this step
	follows bool      // another version of the service was there before
	methods int

	// Of this step: calls, records, and the calls these stand for.
	calls, kept, represented float64

	counted bool    // counts have come since the version is known
	late    bool    // its counts have not come yet
	owed    float64 // seconds since the last evaluation

	// Weight of its records and of those whose caller is known, decayed.
	weight, called float64
}

// edges reports whether enough callers are known to compute the time in a method's callees.
func (v *version) edges() bool {
	const nearlyAll = 0.9
	return v.weight > 0 && v.called >= nearlyAll*v.weight
}

// Counts are late if far fewer calls are counted than the records represent. They are awaited for a bounded time;
// the first counts of a version are awaited without one.
const (
	lateRecords = 50
	lateFactor  = 1.5
	lateFor     = 2 // intervals
)

// wait determines whether the counts of an interval are complete. An apparent fall would
// raise the rates, and an apparent rise after it cut them.
func (v *version) wait(seconds float64) {
	if v.late = false; !v.heard {
		v.owed = 0
		return
	}
	v.owed += seconds
	v.counted = v.counted || v.calls > 0
	v.late = !v.counted || v.kept >= lateRecords && v.represented > lateFactor*v.calls && v.owed < (lateFor+0.5)*seconds
}
