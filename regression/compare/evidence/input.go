package evidence

import "time"

// Side is the version that an instance runs: Base or Head.
type Side uint8

const (
	Base Side = iota
	Head
)

// Overlap is how the running times of the two versions overlap.
type Overlap uint8

const (
	// Concurrent: both ran in the same buckets. The strongest comparison.
	Concurrent Overlap = iota
	// PreviousDays: the versions do not overlap, and the base's buckets are the same minutes of earlier days. Weaker,
	// because days differ.
	PreviousDays
	// Sequential: the versions do not overlap and there are no earlier days, so the base's buckets come before the
	// head's. The weakest.
	Sequential
)

// Instance is one process. An instance that was restarted with a new version is a new Instance. With more than 64
// instances per version, hash them to 64 random groups; errors are then estimated between groups.
type Instance struct {
	ID   string
	Side Side
	// Processes is the number of processes in the group; 0 = one.
	Processes int
	// Started is the start of the process; its calls within Options.WarmUp of it are left out. Zero means long before
	// the first bucket.
	Started time.Time
}

// Cell holds the sums over the measured calls of one method from one caller, in one instance and one bucket, as one
// GROUP BY returns them. The version is that of the instance.
type Cell struct {
	Method   int32 // index into Deployment.Methods
	Caller   int32 // index into Deployment.Callers
	Instance int32 // index into Deployment.Instances
	Bucket   int32 // 0 begins at Deployment.Begin

	// Records is the number of measured calls, SUM(measured).
	Records float64
	// Weight is SUM(w * measured): the number of calls that the records represent.
	Weight float64
	// Sum is SUM(w * x), x in ns.
	Sum float64
	// Capped is SUM(w * LEAST(x, cap)). cap is the 99.5% quantile of x for this method and caller, the same for both
	// versions.
	Capped float64
	// Log is SUM(w * LN(x)).
	Log float64
	// Over is the number of records above the cap and OverWeight the calls that they represent. Near and Far are the
	// same for the thresholds cap*Near and cap*Far.
	Near, NearWeight, Over, OverWeight, Far, FarWeight float64

	// Calls is SUM(w_wall * measured): the number of calls of the method by the caller. A process that measures no CPU
	// time, or not that of every method, still counts its calls.
	Calls float64
	// Timed is SUM(measured), the number of records behind Calls.
	Timed float64
}

// Deployment is the input of an evaluation: the cells of both versions since the head began. An evaluation with more
// buckets than the previous one must get the same cells for the shared buckets, except for rows that arrived later.
type Deployment struct {
	// Methods are full names, class.method. A method with calls in either version is listed even without measured
	// calls, because the control of false alarms counts all methods that could have been raised.
	Methods []string
	// Callers are names as in Methods, and also "(entry)" and "" (unknown).
	Callers   []string
	Instances []Instance
	Overlap   Overlap
	// ByAge is true if buckets count from the start of each process instead of by the clock.
	ByAge bool

	// Wall is true if cells contain wall time. The speed of a host does not scale wall time, so no common part is
	// subtracted.
	Wall bool
	// Judge marks the methods that are judged by this metric; nil = all. The others only count as callees and callers.
	Judge []bool
	// SameHost is true if all processes of the head ran on hosts of the base.
	SameHost bool
	// Resolution is the uncertainty of the cost of a probe in its own call, in ns. 0 is unknown.
	Resolution float64
	// Spreads are learned from earlier deployments; zero = unknown.
	Spreads Spreads

	Begin   time.Time     // start of bucket 0
	Bucket  time.Duration // length of a bucket
	Buckets int           // number of complete buckets; cells of later ones are ignored
	// Over is true if no more buckets will come, so no later evaluation can confirm this one.
	Over bool

	// Cells can be in any order, with each (method, caller, instance, bucket) at most once. An evaluation is faster if
	// they are sorted by method.
	Cells []Cell
}
