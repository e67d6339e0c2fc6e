package pairs

import (
	"time"

	"github.com/corehour/corehour/regression/alert/rules"
)

// Level is the confidence level of all intervals.
const Level = 0.95

// Options are the options of a Rule.
type Options struct {
	Limits
	Base, Head string // versions; empty = the newest and the one before it
	Metric     string // cpu, wall or empty: CPU time for methods that have it in both versions, else wall time
	// Thresholds are limits of single methods; only for ThresholdRule.
	Thresholds *rules.Thresholds

	WarmUp time.Duration // left out at the start of every process

	// For EvidenceRule only.
	AsOf   time.Time     // the current time, to detect finished comparisons; zero = none is finished
	Bucket time.Duration // 0 = chosen by the length of the run
	// Remembered is kept between evaluations; nil = no cache.
	Remembered *Remembered

	byAge bool // compare processes of the same age
}

// Unit is the unit of the gaps after which a version counts as a new run: a minute, or Bucket if that is shorter.
func (o Options) Unit() time.Duration {
	if o.Bucket > 0 {
		return min(o.Bucket, time.Minute)
	}
	return time.Minute
}
