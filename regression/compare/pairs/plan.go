package pairs

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

const (
	// maxBuckets is the maximum number of buckets of a comparison; longer comparisons have longer buckets.
	maxBuckets = 300
	// minOverlap is the number of buckets after warm-up in which both versions must have run, so that only times with
	// both are compared.
	minOverlap = 3
	// leastBefore is the minimum time before a deployment that is its base if the versions do not overlap.
	leastBefore = 2 * time.Hour
	// earlierDays is the number of earlier days whose same minutes can be the base.
	earlierDays = 7
	// A comparison is finished if nothing was seen of it for overBuckets and for overAfter, the time that rows can
	// take to arrive.
	overBuckets = 2
	overAfter   = time.Minute
	day         = 24 * time.Hour
)

// buckets are the possible lengths. Effects of one bucket reach less into the next if buckets are longer; shorter
// buckets allow comparisons of shorter runs.
var buckets = []time.Duration{
	time.Second, 5 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, day,
}

const (
	// shortBucket is the bucket for deployments of minutes and hours. In shorter buckets, a disturbance of one bucket
	// often reaches into the next.
	shortBucket = time.Minute
	// manyRecords is the number of measured calls above which buckets of a minute take too much memory. fewBuckets is
	// then the maximum number of buckets.
	manyRecords = 2_000_000
	fewBuckets  = 60
	// leastFit and leastFitShort are the minimum numbers of buckets in a comparison, from 30 s and below.
	leastFit, leastFitShort = 12, 6
)

// comparisonPlan selects the rows of two deployments that are compared with each other.
type comparisonPlan struct {
	overlap    evidence.Overlap
	grid       query.Grid
	base, head query.Window
}

// planFor compares times at which both versions ran, if these are enough; else the head with the same minutes of
// earlier days; else with the time before it.
func planFor(p Pair, o Options) comparisonPlan {
	if o.byAge {
		return planByAge(p, o)
	}
	from, to := later(p.Base.First, p.Head.First), sooner(p.Base.Last, p.Head.Last)
	bucket := bucketOf(to.Sub(from), p, o)
	warm := later(from, later(p.Head.Since, p.Base.Since).Add(max(o.WarmUp, 0)))
	if to.Sub(warm) >= minOverlap*bucket {
		begin := from.Truncate(bucket)
		w := query.Window{From: begin, To: to}
		return comparisonPlan{evidence.Concurrent, query.Grid{Begin: begin, TimeBucket: bucket}, w, w}
	}
	if p.Head.First.Sub(p.Base.First) >= day && p.Base.Last.Sub(p.Head.First.Add(-earlierDays*day)) > 0 {
		bucket = bucketOf(min(p.Head.Last.Sub(p.Head.First), day), p, o)
		begin := p.Head.First.Truncate(bucket)
		return comparisonPlan{
			evidence.PreviousDays, query.Grid{Begin: begin, TimeBucket: bucket, Daily: true},
			query.Window{From: begin.Add(-earlierDays * day), To: begin},
			query.Window{From: begin, To: p.Head.Last},
		}
	}
	return oneAfterTheOther(p, o)
}

// oneAfterTheOther compares the times before and after the change from the earlier to the later version. Either of them
// can be the base.
func oneAfterTheOther(p Pair, o Options) comparisonPlan {
	earlier, next := p.Base, p.Head
	if next.First.Before(earlier.First) {
		earlier, next = next, earlier
	}
	end := sooner(next.First, earlier.Last)
	length := max(p.Head.Last.Sub(p.Head.First), leastBefore)
	old := query.Window{From: later(earlier.First, end.Add(-length)), To: end}
	young := query.Window{From: next.First, To: sooner(next.First.Add(length), next.Last)}
	bucket := bucketOf(young.To.Sub(young.From), p, o)
	for young.To.Sub(old.From) > maxBuckets*bucket && bucket < 30*day {
		bucket *= 2
	}
	made := comparisonPlan{evidence.Sequential, query.Grid{Begin: old.From.Truncate(bucket), TimeBucket: bucket}, old, young}
	if earlier.First.Equal(p.Head.First) && !p.Head.First.Equal(p.Base.First) {
		made.base, made.head = young, old
	}
	return made
}

// bucketOf returns the longest bucket of at most shortBucket that fits leastFit times into span: in a comparison of less
// than a minute, seconds are too short for the counts of SDKs, so leastFitShort is enough for 5 s. If span has more
// buckets than the maximum, it returns the shortest longer bucket that stays within it.
func bucketOf(span time.Duration, p Pair, o Options) time.Duration {
	if o.Bucket > 0 {
		return o.Bucket
	}
	most := time.Duration(maxBuckets)
	if p.Base.Measured+p.Head.Measured > manyRecords {
		most = fewBuckets
	}
	chosen := buckets[0]
	for _, s := range buckets {
		fit := time.Duration(leastFit)
		if s < 30*time.Second {
			fit = leastFitShort
		}
		if s <= shortBucket && span >= fit*s || s > shortBucket && span > most*chosen {
			chosen = s
		}
	}
	return chosen
}

// end returns the end of the last bucket.
func (p comparisonPlan) end() time.Time {
	if p.grid.ByAge {
		return p.head.To
	}
	return later(p.head.To, p.base.To)
}

// over reports whether the comparison ended so long ago that no more rows will arrive.
func (p comparisonPlan) over(end, asOf time.Time) bool {
	return asOf.Sub(end) >= max(overBuckets*p.grid.TimeBucket, overAfter)
}

func (p comparisonPlan) how() string {
	switch {
	case p.grid.ByAge:
		return "processes of both versions at the same age"
	case p.overlap == evidence.Concurrent:
		return "processes of both versions at the same time"
	case p.overlap == evidence.PreviousDays:
		return "the same minutes of earlier days"
	}
	return "before against after"
}

// warnings returns the reasons that make the comparison weaker.
func (p comparisonPlan) warnings() []string {
	if p.grid.TimeBucket >= shortBucket {
		return nil
	}
	return []string{fmt.Sprintf("time buckets of %s instead of %s, because the time is short: what happens in one may last into the next, and chance looks smaller than it is", p.grid.TimeBucket, shortBucket)}
}
