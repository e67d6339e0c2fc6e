package decide

import "time"

type serviceKey struct{ namespace, name, environment string }

// service is what its versions share.
type service struct {
	key      serviceKey
	versions []*version
	head     *version  // the new version that is compared, nil = none
	opened   time.Time // when its comparison began

	spread     float64 // pooled over its methods
	cost       float64 // geometric mean of its methods' mean, ns
	cpuPerWall float64 // CPU time per wall time of the methods that have both
	sums       pooled
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

	// Weight of its records and of those whose caller is known, decayed.
	weight, called float64
}

// edges tells whether callers are known so well that what a method's callees
// took is known.
func (v *version) edges() bool {
	const nearlyAll = 0.9
	return v.weight > 0 && v.called >= nearlyAll*v.weight
}
