package decide

import (
	"math"
	"slices"
	"time"
)

// Limit bounds the records that are kept in one interval, of a service or of a sender. It
// has no lock and no clock; the processor has both.
//
// The bound holds from the first record on, before counts arrive and before a process knows its rates. Review
// compares the expected records with the remaining ones, and returns how many each method can have. Rates only
// fall within an interval, and the decision uses earlier records only, so estimates that weigh by 1/p stay true.
type Limit struct {
	Most  float64   // records in this interval
	Since time.Time // start of the time in which the kept records were produced
	Ends  time.Time

	Kept   float64
	Pinned float64 // records kept because the method file fixes their rate
	Due    float64 // number of records at which the next review is due
	Coming float64 // records a second that the last review expected before its cut

	part     float64 // of an interval
	interval time.Duration
	reviewed time.Time // time of the last review, and records kept by then
	before   float64
}

// Headroom is the default limit of an interval relative to the budget. Load varies by the minute, and records that
// a limit cuts late in an interval weigh many times as much as the others.
const Headroom = 1.25

const (
	// sendLag is added to the elapsed time, because the first records were produced earlier. SDKs
	// send every 5 seconds, and busy ones far more often.
	sendLag = time.Second

	// reviews divides the remaining limit: each such part leads to another review. mostReviews bounds
	// their number. Its inverse is the part of the limit that is reserved for methods without a
	// record, which no review knows.
	reviews     = 8
	mostReviews = 128

	// newShare is the least part of an interval's records for a service that appears when the interval
	// is nearly over.
	newShare = 0.25

	// surge is the factor over the mean since Since from which the flow since the last review is
	// used instead.
	surge = 2

	// limitSigmas is the number of standard errors by which the expected records must exceed the
	// remaining ones: a load at its target is not cut for noise.
	limitSigmas = 2
)

// Flow is the observed flow of a method in the interval so far.
type Flow struct {
	Records float64 // that arrived, kept or not
	Weight  float64 // calls they stand for
	Rate    float64 // in force
	Pinned  bool    // by the method file: it is not cut
}

// ahead returns the expected number of further records, for a given multiple of those so far.
func (f *Flow) ahead(times float64) float64 {
	return min(f.Records, f.Weight*f.Rate) * times
}

// Begin starts an interval. A service that appears within it gets a part of the limit, and the first interval of
// a collector can be longer than the others.
func (l *Limit) Begin(now, ends time.Time, interval time.Duration, perSecond float64) {
	part := max(newShare, ends.Sub(now).Seconds()/interval.Seconds())
	*l = Limit{Since: now, Ends: ends, part: part, interval: interval, reviewed: now}
	l.Allow(perSecond)
	l.Due = max(1, l.Most/reviews)
}

// Allow changes the bound within an interval, and reports whether a review is due.
func (l *Limit) Allow(perSecond float64) bool {
	l.Most = l.part * perSecond * l.interval.Seconds()
	if first := l.Most / reviews; l.before == 0 && l.Kept < first {
		l.Due = first
		return false
	}
	return true
}

// Rate converts a number of records per interval to records per second.
func (l *Limit) Rate(n float64) float64 { return n / (l.part * l.interval.Seconds()) }

// Wants returns the records a second of the whole interval, from the records kept so far and the expected ones
// per second; 0 = as many as so far. It reads no state that a review changes.
func (l *Limit) Wants(now time.Time, kept, coming float64) float64 {
	if coming == 0 {
		coming = kept / (now.Sub(l.Since) + sendLag).Seconds()
	}
	return l.Rate(kept + coming*max(l.Ends.Sub(now), 0).Seconds())
}

// Share returns the part of total for one sender, given the demands of the others: the records that they leave,
// and at least an equal share. It sorts others.
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

// Review returns the number of further records per method, +Inf if all methods can continue unchanged, and the
// expected multiple of the records so far.
func (l *Limit) Review(now time.Time, flows []Flow) (level, ahead float64) {
	const least = time.Second
	most := l.Most - l.Most/mostReviews // the rest is reserved for methods not seen yet
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
		l.Due = min(l.Due, max(most, l.Kept+1)) // beyond it there is no useful rate
	}
	if all <= left*(1+limitSigmas/math.Sqrt(max(l.Kept, 1))) {
		return math.Inf(1), ahead
	}
	return waterLevel(expected, all, left), ahead
}

// waterLevel returns the x at which the sum of min(amounts, x) is left. The methods with most records are cut to
// the same number, and the rare ones keep theirs.
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

// Cut returns the rate of a method that can have level further records, and reports whether it is lower than its
// current rate.
func (f *Flow) Cut(level, ahead float64) (rate float64, less bool) {
	if f.Pinned || f.ahead(ahead) <= level {
		return f.Rate, false
	}
	return max(level, tiny) / (f.Weight * ahead), true
}
