package methodspan

import "math"

// The most that a row can say. More is not true, or overflows where rows are added up.
const (
	MostTime     = 1 << 60 // ns, 36 years, and whatever else is added up
	MostMeasured = 1 << 53 // calls, as many as a DOUBLE holds exactly
	MostCores    = 1 << 16 // of one process: Linux can be built for 8192
	MostUSD      = 1 << 20 // per hour of a core

	// The least probability, of being timed and of having the CPU timed. One that stands for a
	// weight may be below zero, and weightless at the most.
	LeastP = 1e-18
	MostP  = weightless

	MostSquares = 1e36
)

// Bound takes out what cannot be true: collectors once stored whatever a sender said. The views
// of the job's statements do the same.
func (r *Row) Bound() {
	for _, n := range []*int64{&r.Measured, &r.CPUMeasured} {
		if *n < 0 || *n > MostMeasured {
			*n = 0
		}
	}
	for _, ns := range []*int64{&r.WallNS, &r.CPUNS, &r.WallMaxNS, &r.CPUMaxNS} {
		if *ns < 0 || *ns > MostTime {
			*ns = 0
		}
	}
	bound := func(most float64, values ...*float64) {
		for _, x := range values {
			if !(*x >= 0 && *x <= most) {
				*x = 0
			}
		}
	}
	bound(MostTime, &r.Calls, &r.Errors)
	bound(MostSquares, &r.WallSq, &r.CPUSq)
	probability := func(p, least float64) bool {
		if r.Level != LevelRaw {
			p = math.Abs(p)
		}
		return p >= least && p <= MostP
	}
	if !probability(r.Q(), LeastP*LeastP) {
		r.CPUP = 0
	}
	if !probability(r.P, LeastP) {
		r.P = 0
	}
	if usd := r.USDPerCoreHour; usd != nil && !(*usd >= 0 && *usd <= MostUSD) {
		r.USDPerCoreHour = nil
	}
	if s := r.Process; s != nil {
		cores := float64(MostCores)
		if r.Level != LevelRaw {
			cores = MostTime
		}
		bound(cores, &s.Cores, &s.HostCores, &s.CPULimit)
		if s.CallsTotal < 0 || s.CallsTotal > MostMeasured {
			s.CallsTotal = 0
		}
		if s.RSSBytes < 0 || s.RSSBytes > MostTime {
			s.RSSBytes = 0
		}
	}
}
