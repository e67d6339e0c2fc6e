package pairs

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

const (
	// maxBuckets bounds a comparison in time: beyond it buckets get longer.
	maxBuckets = 300
	// minOverlap is how many buckets after warm-up both versions must have run at
	// the same time to be compared in these alone.
	minOverlap = 3
	// leastBefore is the least time before a deployment that is taken as its base
	// where nothing overlaps.
	leastBefore = 2 * time.Hour
	// earlierDays are those whose same minutes are a base.
	earlierDays = 7
	// What is compared is over when it was not seen for so many buckets, and for a
	// minute: rows are that long under way.
	overBuckets = 2
	overAfter   = time.Minute
	day         = 24 * time.Hour
)

// buckets are the lengths to choose from. What happens in one depends the less on
// the one before the longer they are; shorter ones make sense of shorter runs.
var buckets = []time.Duration{
	time.Second, 5 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, day,
}

const (
	// shortBucket is that of a deployment of minutes and hours: what slows one minute may
	// last into the next in shorter ones.
	shortBucket = time.Minute
	// manyRecords are so many that one bucket a minute would take too much memory; then
	// fewBuckets is the most.
	manyRecords = 2_000_000
	fewBuckets  = 60
)

// comparisonPlan says which rows of two deployments are compared with each other.
type comparisonPlan struct {
	overlap    evidence.Overlap
	grid       query.Grid
	base, head query.Window
}

// planFor compares what ran at the same time, if that is enough; else the head with
// the same minutes of earlier days; else with what came before it.
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

// oneAfterTheOther takes what came before and after the change from the earlier to
// the later version, whichever of them is the base.
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

// bucketOf is the longest bucket of which a span has twelve, up to a minute, and from there
// the shortest of which it has no more than the most.
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
		if s <= shortBucket && span >= 12*s || s > shortBucket && span > most*chosen {
			chosen = s
		}
	}
	return chosen
}

// end is that of the last bucket.
func (p comparisonPlan) end() time.Time {
	if p.grid.ByAge {
		return p.head.To
	}
	return later(p.head.To, p.base.To)
}

// over reports whether what is compared ended so long ago that no more of it will come.
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

// warnings say what makes the comparison weaker.
func (p comparisonPlan) warnings() []string {
	if p.grid.TimeBucket >= shortBucket {
		return nil
	}
	return []string{fmt.Sprintf("time buckets of %s instead of %s, because the time is short: what happens in one may last into the next, and chance looks smaller than it is", p.grid.TimeBucket, shortBucket)}
}
