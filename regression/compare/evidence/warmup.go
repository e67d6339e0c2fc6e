package evidence

import (
	"math"
	"time"

	"github.com/corehour/corehour/regression/stats"
)

// Learn as Options.WarmUp finds the warm-up of each instance from the data: the first buckets in which it is more
// expensive than later.
const Learn time.Duration = -1

const (
	// mostWarmUp is the age from which an instance always counts as warm. A longer change is not a warm-up.
	mostWarmUp = 30 * time.Minute
	// leastSettled is the minimum time for which an instance's level must stay constant, rounded up to 2 to 3 buckets.
	leastSettled = 3 * time.Minute
	// An instance younger than waitForRecords counts as warming up if its records could not show a decline by
	// declineThatMatters.
	declineThatMatters = 0.25
	waitForRecords     = 3 * time.Minute
	// settledBy is the tolerance by which a settled bucket can be more expensive than later buckets, and settledZ the
	// number of standard errors from which a difference is significant.
	settledBy, settledZ = 0.01, 2
	// bucketsDiffer is the assumed standard deviation of a level between buckets, with the weight of bucketsDifferDF
	// observed differences. lasting is the ratio of the variance over several buckets to that between neighbours.
	bucketsDiffer   = 0.02
	bucketsDifferDF = 4
	lasting         = 2.5
	// goesOnBy is the minimum change of a level between halves for an instance that never settles.
	goesOnBy = 0.02
	// leastAges is the minimum number of buckets in the first half hour for the test of unsettled instances.
	leastAges = 3
)

// WarmUp describes the learned warm-up of instances.
type WarmUp struct {
	// Longest is the longest time that was left out of an instance.
	Longest time.Duration `json:"longest"`
	// Waiting is the number of instances that have not settled yet, by version.
	Waiting [2]int `json:"waiting"`
	// Unsettled is the number of instances, by version, whose level rose or fell from their start until they counted as
	// warm for their age.
	Unsettled [2]int `json:"unsettled"`
	// Due is the earliest time of evidence from instances that are still warming up.
	Due time.Time `json:"due"`
}

// learnWarmUp finds the first bucket that counts for each started instance. It compares the instance's level in a
// bucket with that in its later buckets, method by method, so neither host nor version affects the result. An
// instance has settled if its level stays constant for some buckets and for at least its age.
func (x *index) learnWarmUp(z *standard) {
	series := x.levels(z)
	noise := bucketNoise(series)
	buckets := x.d.Buckets
	var old [2][]life // observed from their start until they counted as warm
	for i, in := range x.d.Instances {
		if in.Started.IsZero() {
			continue
		}
		age := func(bucket int) time.Duration {
			return x.d.Begin.Add(x.d.Bucket * time.Duration(bucket)).Sub(in.Started)
		}
		first := 0
		for first < buckets && age(first) < 0 {
			first++
		}
		if first == buckets {
			continue // it starts in the last bucket, or has not started
		}
		if age(first) >= mostWarmUp {
			continue
		}
		from := first
		for from < buckets && age(from) < mostWarmUp && !series[i].settled(from, buckets, x.leastSettled(), age(from), x.longestTest(), x.d.Bucket, noise) {
			from++
		}
		if age(first) < x.d.Bucket && age(series[i].end) > mostWarmUp {
			old[in.Side] = append(old[in.Side], life{&series[i], first})
		}
		for s := first; s < min(from, buckets); s++ {
			x.warm[i*buckets+s] = false
		}
		if left := age(min(from, buckets)); from > first {
			x.learned.Longest = max(x.learned.Longest, left)
		}
		if from == buckets {
			x.learned.Waiting[in.Side]++
			due := x.d.Begin.Add(x.d.Bucket * time.Duration(buckets+x.leastSettled()))
			if x.learned.Due.IsZero() || due.Before(x.learned.Due) {
				x.learned.Due = due
			}
		}
	}
	for side := range old {
		x.learned.Unsettled[side] = unsettled(old[side], int(mostWarmUp/x.d.Bucket), x.leastSettled(), noise)
	}
}

// leastSettled returns the constant leastSettled in buckets.
func (x *index) leastSettled() int {
	return int(min(max(2, (leastSettled+x.d.Bucket-1)/x.d.Bucket), 3))
}

// shortRun is the bucket length below which a comparison lasts only minutes.
const shortRun = 30 * time.Second

// longestTest bounds the time for which a level must stay constant: in a comparison of minutes to half of it. Otherwise
// processes of the base that started shortly before the head could never settle, since they are older than the time that
// both versions ran. If such a process still gets cheaper, the base looks more expensive, so no false alert follows.
func (x *index) longestTest() time.Duration {
	if x.d.Bucket >= shortRun {
		return mostWarmUp
	}
	return x.d.Bucket * time.Duration(x.d.Buckets) / 2
}

// levelSeries are the levels of one instance by bucket and method, less the base's expected level, weighted by records.
type levelSeries struct {
	first, buckets int                // first observed bucket, and number of buckets
	end            int                // after the last bucket with a record
	methods        [][]stats.Weighted // by method, by bucket
}

// levels computes the series of the instances with a known start.
func (x *index) levels(z *standard) []levelSeries {
	out := make([]levelSeries, len(x.d.Instances))
	z.remove(nil)
	d, buckets := x.d, x.d.Buckets
	for i := range out {
		out[i].first, out[i].buckets = buckets, buckets
	}
	for m := range x.d.Methods {
		if !z.method(x.of(m)) {
			continue
		}
		g := &z.grids[level]
		for i, in := range x.d.Instances {
			if in.Started.IsZero() || d.Begin.Sub(in.Started) >= mostWarmUp {
				continue
			}
			own := make([]stats.Weighted, buckets)
			any := false
			for s := range own {
				at := i*buckets + s
				if n := z.records[at]; n > 0 && g.expected[at] > 0 {
					own[s] = stats.Weighted{Value: g.residual[at] / g.expected[at], Weight: n / (1 + n/saturation)}
					any = true
					out[i].first, out[i].end = min(out[i].first, s), max(out[i].end, s+1)
				}
			}
			if any {
				out[i].methods = append(out[i].methods, own)
			}
		}
	}
	return out
}

// settled reports whether an instance has settled by a bucket.
func (l *levelSeries) settled(bucket, buckets, least int, age, longestTest, length time.Duration, noise float64) bool {
	left := buckets - bucket
	if left < least || time.Duration(left)*length < min(age, longestTest) {
		return false
	}
	if age < 0 {
		return false
	}
	// Few records cannot show a decline, so wait for more.
	if _, variance, ok := l.contrast(bucket, bucket+left/2, buckets); age < waitForRecords && ok && settledZ*math.Sqrt(variance) > declineThatMatters {
		return false
	}
	// Compare the bucket with all later ones, and the first half of the rest with the second: no single bucket shows a
	// slow decline.
	return !l.above(bucket, bucket+1, buckets, noise) && !l.above(bucket, bucket+left/2, buckets, noise)
}

// life is an instance from the bucket in which it started.
type life struct {
	*levelSeries
	from int
}

// unsettled counts the instances whose level changes all the time: for every number of skipped buckets up to most, the
// first half of the rest differs from the second, always in the same direction. The mean of all instances must change
// in the same way.
func unsettled(lives []life, most, least int, noise float64) int {
	if most < leastAges {
		return 0
	}
	for _, l := range lives { // keep at least half of each life
		most = min(most, (l.end-l.from)/2)
	}
	goOn := make([]bool, len(lives))
	for i := range goOn {
		goOn[i] = true
	}
	direction := 0.0
	for age := range most + 1 {
		shared := make([]stats.Weighted, 0, len(lives))
		values := make([]float64, len(lives))
		for i, l := range lives {
			from := l.from + age
			middle := from + (l.end-from)/2
			if middle-from < least {
				return 0
			}
			value, variance, ok := l.contrast(from, middle, l.end)
			if !ok {
				return 0
			}
			variance += noise * (1/float64(middle-from) + 1/float64(l.end-middle))
			values[i], shared = value, append(shared, stats.Weighted{Value: value, Weight: 1 / variance})
		}
		mean := meanOf(shared)
		if math.Abs(mean.Value) <= max(goesOnBy, settledZ/math.Sqrt(mean.Weight)) || mean.Value*direction < 0 {
			return 0
		}
		direction = mean.Value
		for i, value := range values {
			goOn[i] = goOn[i] && value*direction > 0 && math.Abs(value) > goesOnBy
		}
	}
	n := 0
	for _, yes := range goOn {
		if yes {
			n++
		}
	}
	return n
}

// above reports whether the buckets in [from, middle) are significantly more expensive than those in [middle, to).
func (l *levelSeries) above(from, middle, to int, noise float64) bool {
	value, variance, ok := l.contrast(from, middle, to)
	variance += noise * (1/float64(middle-from) + 1/float64(to-middle))
	return ok && value > settledBy && value > settledZ*math.Sqrt(variance)
}

// contrast returns the level of the buckets in [from, middle) less that of [middle, to), and its variance.
func (l *levelSeries) contrast(from, middle, to int) (value, variance float64, ok bool) {
	votes := make([]stats.Weighted, 0, len(l.methods))
	for _, own := range l.methods {
		a, b := meanOf(own[from:middle]), meanOf(own[middle:to])
		if a.Weight > 0 && b.Weight > 0 {
			votes = append(votes, stats.Weighted{Value: a.Value - b.Value, Weight: 1 / (1/a.Weight + 1/b.Weight)})
		}
	}
	if len(votes) == 0 {
		return 0, 0, false
	}
	value, variance = commonVote(votes)
	return value, variance, true
}

// bucketNoise returns the variance of a level between buckets, estimated from neighbouring buckets in the second
// half of each instance's data.
func bucketNoise(series []levelSeries) float64 {
	sum, n := bucketsDiffer*bucketsDiffer*bucketsDifferDF, float64(bucketsDifferDF)
	for i := range series {
		l := &series[i]
		for s := l.buckets - (l.buckets-l.first)/2; s+1 < l.buckets; s++ {
			if d, variance, ok := l.contrast(s, s+1, s+2); ok {
				sum += lasting * max(0, d*d-variance) / 2
				n++
			}
		}
	}
	return sum / n
}

func meanOf(values []stats.Weighted) (out stats.Weighted) {
	for _, v := range values {
		out.Value += v.Value * v.Weight
		out.Weight += v.Weight
	}
	if out.Weight > 0 {
		out.Value /= out.Weight
	}
	return out
}
