package decide

import (
	"math"
	"slices"
	"time"
)

// Limit bounds the records that are kept in one interval, of a service or of a sender. It
// has no lock and no clock; the processor has both.
//
// The bound holds from the first record on, before counts come and before a process
// knows its rates: as records are kept, Review compares those still to be expected
// with those still allowed, and says how many each method may have. Rates fall within
// an interval and never rise, and what has been kept so far decides about what comes,
// so estimates that weigh by 1/p stay true.
type Limit struct {
	Most  float64   // records in this interval
	Since time.Time // when what was kept of it began to be produced
	Ends  time.Time

	Kept   float64
	Pinned float64 // of them kept by the method file's word
	Due    float64 // at so many the next review is due
	Coming float64 // records a second that the last review expected, before it cut

	part     float64 // of an interval
	interval time.Duration
	reviewed time.Time // the last one, and what had been kept by then
	before   float64
}

const (
	// sendLag is added to the time that has passed: what arrives first was produced
	// before. SDKs send every 5 seconds, those with much to send far more often.
	sendLag = time.Second

	// reviews divides what is left: after each such part it is looked at again.
	// mostReviews bounds how often. Its inverse is the part of the limit that is left to
	// methods that have no record yet: no review knows of theirs.
	reviews     = 8
	mostReviews = 128

	// newShare is the least part of an interval's records for a service that is met
	// when the interval is nearly over.
	newShare = 0.25

	// surge is the factor above its mean since Since from which on the flow since the
	// last review counts.
	surge = 2

	// limitSigmas is how many standard errors the records to come must be above what
	// is left: a load that keeps to the target is not cut for noise.
	limitSigmas = 2
)

// Flow is what an interval has shown of a method so far.
type Flow struct {
	Records float64 // that arrived, kept or not
	Weight  float64 // calls they stand for
	Rate    float64 // in force
	Pinned  bool    // by the method file: it is not cut
}

// ahead returns the records to come, so many times those so far.
func (f *Flow) ahead(times float64) float64 {
	return min(f.Records, f.Weight*f.Rate) * times
}

// Begin starts an interval. A service that is met within it gets its part, and the first
// one of a collector may be longer than the others.
func (l *Limit) Begin(now, ends time.Time, interval time.Duration, perSecond float64) {
	part := max(newShare, ends.Sub(now).Seconds()/interval.Seconds())
	*l = Limit{Since: now, Ends: ends, part: part, interval: interval, reviewed: now}
	l.Allow(perSecond)
	l.Due = max(1, l.Most/reviews)
}

// Allow changes the bound within an interval, and reports whether so much of it is kept
// that a review is due.
func (l *Limit) Allow(perSecond float64) bool {
	l.Most = l.part * perSecond * l.interval.Seconds()
	if first := l.Most / reviews; l.before == 0 && l.Kept < first {
		l.Due = first
		return false
	}
	return true
}

// Rate returns the records a second that n are in the interval.
func (l *Limit) Rate(n float64) float64 { return n / (l.part * l.interval.Seconds()) }

// Wants returns the records a second that the interval will have brought, of those kept so far
// and those that come each second, 0 = as many as so far. It looks at nothing that a review
// changes.
func (l *Limit) Wants(now time.Time, kept, coming float64) float64 {
	if coming == 0 {
		coming = kept / (now.Sub(l.Since) + sendLag).Seconds()
	}
	return l.Rate(kept + coming*max(l.Ends.Sub(now), 0).Seconds())
}

// Share returns the part of total that one sender may have where others want so much: what they
// leave, and no less than any of them gets that wants more. It sorts the others.
func Share(total float64, others []float64) float64 {
	all := total
	for _, wanted := range others {
		all += wanted
	}
	return waterLevel(append(others, total), all, total)
}

// Keep counts kept records and returns whether a review is due.
func (l *Limit) Keep(n float64, pinned bool) bool {
	l.Kept += n
	if pinned {
		l.Pinned += n
	}
	return l.Kept >= l.Due
}

// Review returns by how many records each method may go on, +Inf if all may go on as
// they do, and how many times what has arrived is still to come.
func (l *Limit) Review(now time.Time, flows []Flow) (level, ahead float64) {
	const least = time.Second
	most := l.Most - l.Most/mostReviews // what is over is for methods that are not met yet
	free := l.Kept - l.Pinned
	left := max(most-l.Kept, leftByPins*most-free, 0)
	passed := (now.Sub(l.Since) + sendLag).Seconds()
	ahead = max(l.Ends.Sub(now), least).Seconds() / passed
	if lately := (l.Kept - l.before) / (now.Sub(l.reviewed) + sendLag).Seconds(); lately > surge*l.Kept/passed {
		ahead *= lately * passed / l.Kept
	}
	l.reviewed, l.before = now, l.Kept
	expected := make([]float64, 0, len(flows))
	var all, pinned float64
	for i := range flows {
		switch e := flows[i].ahead(ahead); {
		case flows[i].Pinned:
			pinned += e
			left = max(left-e, min(left, leftByPins*most-free), 0)
		case e > 0:
			expected = append(expected, e)
			all += e
		}
	}
	l.Coming = (all + pinned) / max(l.Ends.Sub(now), least).Seconds()
	l.Due = l.Kept + max(1, left/reviews, l.Most/mostReviews, (free-most)/reviews)
	if l.Kept < most {
		l.Due = min(l.Due, max(most, l.Kept+1)) // what comes beyond has no rate to speak of
	}
	if all <= left*(1+limitSigmas/math.Sqrt(max(l.Kept, 1))) {
		return math.Inf(1), ahead
	}
	return waterLevel(expected, all, left), ahead
}

// waterLevel returns the x for which the sum of min(amounts, x) is left. The methods that
// would bring most are cut, to the same number, and the rare ones keep theirs.
func waterLevel(amounts []float64, all, left float64) float64 {
	slices.Sort(amounts)
	below := 0.0
	for i, x := range amounts {
		if above := float64(len(amounts) - i); below+x*above >= left {
			return (left - below) / above
		}
		below += x
	}
	return all
}

// Cut returns the rate of a method that may go on by level records, and whether that is
// less than its rate now.
func (f *Flow) Cut(level, ahead float64) (rate float64, less bool) {
	if f.Pinned || f.ahead(ahead) <= level {
		return f.Rate, false
	}
	return max(level, tiny) / (f.Weight * ahead), true
}
