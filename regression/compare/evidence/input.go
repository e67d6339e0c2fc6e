package evidence

import "time"

// Side tells which of the two deployments an instance runs.
type Side uint8

const (
	Base Side = iota
	Head
)

// Overlap says how the two versions lie in time.
type Overlap uint8

const (
	// Concurrent: both ran in the same buckets. The strongest comparison.
	Concurrent Overlap = iota
	// PreviousDays: nothing overlaps, and the base's buckets are those of the same
	// minutes of earlier days. Weaker: days differ.
	PreviousDays
	// Sequential: nothing overlaps and there are no earlier days; the base's
	// buckets come before the head's. The weakest.
	Sequential
)

// Instance is one process: an instance that was restarted with a new version is
// another one. Above 64 instances a side, hash them to 64 random groups; the
// cluster structure survives.
type Instance struct {
	ID   string
	Side Side
	// Processes is how many it stands for; 0 = one.
	Processes int
	// Started is when the process began; what it does within Options.WarmUp of
	// it is left out. Zero means before the first bucket, long ago.
	Started time.Time
}

// Cell holds the sums over the measured calls of one method, called by one
// caller, in one instance and one bucket. It is what one GROUP BY delivers. The
// version is that of the instance.
type Cell struct {
	Method   int32 // index into Deployment.Methods
	Caller   int32 // index into Deployment.Callers
	Instance int32 // index into Deployment.Instances
	Bucket   int32 // 0 begins at Deployment.Begin

	// Records is the number of measured calls, SUM(measured): it says how much
	// was seen.
	Records float64
	// Weight is SUM(w * measured): the calls that the records stand for.
	Weight float64
	// Sum is SUM(w * x), x in ns.
	Sum float64
	// Capped is SUM(w * LEAST(x, cap)), the cap being the 99.5% quantile of x for
	// this method and caller, the same for both versions.
	Capped float64
	// Log is SUM(w * LN(x)).
	Log float64
	// Over is the number of records above the cap and OverWeight the calls that they
	// stand for; Near and Far count those above so many times the cap.
	Near, NearWeight, Over, OverWeight, Far, FarWeight float64

	// Calls is SUM(w_wall * measured): how often the caller called the method. A
	// process that times no CPU, or not that of every method, still counts its calls.
	Calls float64
	// Timed is SUM(measured), the records behind Calls.
	Timed float64
}

// Deployment is everything that an evaluation needs: the cells of both versions since
// the head began. An evaluation that sees more buckets than the one before must see the
// same cells for the buckets they share, or later ones of more rows.
type Deployment struct {
	// Methods are full names, class.method. A method with calls in either version
	// is listed even if nothing of it was measured: the control of false alarms
	// counts the methods that could have been raised.
	Methods []string
	// Callers are names as in Methods; "(entry)" and "" (unknown) are callers
	// like others.
	Callers   []string
	Instances []Instance
	Overlap   Overlap
	// ByAge says that buckets are of the age of processes, whatever hour it was.
	ByAge bool

	// Wall says that cells are of wall time, which no slow host scales: nothing is taken
	// off as common to all methods.
	Wall bool
	// Judge marks the methods that are judged by this metric; nil = all. The others take
	// part as callees and callers.
	Judge []bool
	// Spreads are those of earlier deployments; zero = unknown.
	Spreads Spreads

	Begin   time.Time     // of bucket 0
	Bucket  time.Duration // length of a bucket
	Buckets int           // buckets that are complete; cells of later ones are ignored
	// Over tells that no more buckets will come: no later evaluation can confirm this one.
	Over bool

	// Cells are in any order; each (method, caller, instance, bucket) at most once.
	// An evaluation is fastest where they are sorted by method.
	Cells []Cell
}
