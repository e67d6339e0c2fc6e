package methodspan

import (
	"math"
	"time"
)

// The most that a row can say. More is not true, or overflows where rows are added up.
const (
	MostTime     = 1 << 60 // ns, 36 years, and whatever else is added up
	MostMeasured = 1 << 53 // calls, as many as a DOUBLE holds exactly
	MostCores    = 1 << 16 // of one process: Linux can be built for 8192
	MostUSD      = 1 << 20 // per hour of a core

	// The least probability, of being timed and of having the CPU timed. One that stands for a
	// weight may be below zero, and 1e300, which weighs nothing, at the most.
	LeastP = 1e-18
	MostP  = 1e300

	MostSquares = 1e36
)

// Ahead is how far the clock of a row may be ahead of that of its reader.
const Ahead = time.Hour

// Until is when the last row starts or ends that a reader believes at a time.
func Until(now time.Time) int64 { return now.Add(Ahead).UnixNano() }

// Bound takes out what cannot be true, and reports whether there was any: collectors once stored
// whatever a sender said. The views of the job's statements do the same. A time that is taken
// out was not measured. Rows that start after until are not read yet; their end stays.
func (r *Row) Bound(until int64) (changed bool) {
	if r.EndNS < r.StartNS || r.EndNS > until && r.StartNS <= until {
		r.EndNS, changed = r.StartNS, true
	}
	within := func(n, most int64) bool { return n >= 0 && n <= most }
	if !within(r.Measured, MostMeasured) || !within(r.WallNS, MostTime) {
		r.Measured, r.WallNS, r.WallSq, r.WallMaxNS, changed = 0, 0, 0, 0, true
	}
	if !within(r.CPUMeasured, MostMeasured) || !within(r.CPUNS, MostTime) {
		r.CPUMeasured, r.CPUNS, r.CPUSq, r.CPUMaxNS, r.CPUWaits, changed = 0, 0, 0, 0, 0, true
	}
	for _, ns := range []*int64{&r.WallMaxNS, &r.CPUMaxNS} {
		if !within(*ns, MostTime) {
			*ns, changed = 0, true
		}
	}
	bound := func(most float64, values ...*float64) {
		for _, x := range values {
			if !(*x >= 0 && *x <= most) {
				*x, changed = 0, true
			}
		}
	}
	bound(MostTime, &r.Calls, &r.Errors, &r.CPUWaits)
	bound(MostSquares, &r.WallSq, &r.CPUSq)
	probability := func(p, least float64) bool {
		if r.Level != LevelRaw {
			p = math.Abs(p)
		}
		return p >= least && p <= MostP
	}
	if r.CPUP != 0 && !(probability(r.P, LeastP) && probability(r.Q(), LeastP*LeastP)) {
		r.CPUP, changed = 0, true
	}
	if r.P != 0 && !probability(r.P, LeastP) {
		r.P, changed = 0, true
	}
	if usd := r.USDPerCoreHour; usd != nil && !(*usd >= 0 && *usd <= MostUSD) {
		r.USDPerCoreHour, changed = nil, true
	}
	if s := r.Process; s != nil {
		cores := float64(MostCores)
		if r.Level != LevelRaw {
			cores = MostTime
		}
		bound(cores, &s.Cores, &s.HostCores, &s.CPULimit)
		if s.CallsTotal != TotalNotGiven && !within(s.CallsTotal, MostMeasured) {
			s.CallsTotal, changed = TotalNotGiven, true
		}
		if !within(s.RSSBytes, MostTime) {
			s.RSSBytes, changed = 0, true
		}
	}
	return changed
}
