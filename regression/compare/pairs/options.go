package pairs

import (
	"time"

	"github.com/corehour/corehour/regression/alert/rules"
)

// Level is the confidence of all intervals.
const Level = 0.95

// Options of the rule.
type Options struct {
	Limits
	Base, Head string // versions; empty = newest and the one before
	Metric     string // cpu, wall, or empty: cpu where both versions have it of the method
	// Thresholds are the limits of some methods; of ThresholdRule only.
	Thresholds *rules.Thresholds

	WarmUp time.Duration // left out of every process

	// Of EvidenceRule only.
	AsOf   time.Time     // now, to tell what is over; zero = nothing is
	Bucket time.Duration // 0 = by the length of the run
	// Remembered is kept from evaluation to evaluation; nil = nothing is.
	Remembered *Remembered

	byAge bool // compare processes of the same age
}

// Unit is that of the holes after which a version is taken to run again: a minute, or
// a bucket that is shorter.
func (o Options) Unit() time.Duration {
	if o.Bucket > 0 {
		return min(o.Bucket, time.Minute)
	}
	return time.Minute
}
