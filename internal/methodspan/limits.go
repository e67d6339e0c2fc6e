package methodspan

import (
	"math"
	"time"
)

// Maxima of the columns of a row. A larger value is impossible or overflows when rows are
// added up.
const (
	MostTime     = 1 << 60 // ns, 36 years; also the maximum of other sums
	MostMeasured = 1 << 53 // calls; a DOUBLE is exact up to here
	MostCores    = 1 << 16 // of one process: Linux can be built for 8192
	MostUSD      = 1 << 20 // per hour of a core

	// Bounds of a probability, of being timed and of having the CPU timed. A probability that
	// stands for a weight can be negative, and at most 1e300, which has almost no weight.
	LeastP = 1e-18
	MostP  = 1e300

	MostSquares = 1e36
)

// Ahead is the accepted lead of a sender's clock over the reader's.
const Ahead = time.Hour

// Until returns the latest start or end of a row, in ns, that a reader accepts at now.
func Until(now time.Time) int64 { return now.Add(Ahead).UnixNano() }

// Bound clears impossible values and reports whether there were any, since rows can come from
// a sender that no receiver has checked. The SQL views of the job do the same. A cleared time
// counts as not measured. Rows that start after until are not read yet and keep their end.
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
