package decide

import (
	"math"
	"time"
)

// Constants of a level. A mean over that many calls is known to about 2%, and no mean covers more than that many
// seconds. A change is detected when it is far outside of chance and large enough to matter.
const (
	levelCalls   = 2500
	levelSeconds = 60 * 60
	levelBunches = 24 // times as far back where calls come in bursts of so many or more
	levelSigmas  = 4
	levelChanges = 0.25
)

// averageHalfLife is the half-life of the average, which covers the time of day and nightly batch jobs.
const averageHalfLife = 24 * time.Hour

// level is the frequency of a method's calls, per second.
type level struct {
	Now float64 // lately

	// A run of intervals on the same side of Now.
	Run, RunSeconds float64 // calls, length; negative length = below

	Burstiness burstiness

	// The average over the life of the method, the last day above all.
	Sum, Seconds float64
}

// observe adds the calls of an interval. scale is the number of calls that one record represents, 1 for exact
// counts; before is the number of calls per second in the interval before, and usual is the burstiness of the
// service.
func (l *level) observe(calls, seconds, scale, before float64, usual *burstiness) {
	first := l.Seconds == 0
	f := halved(time.Duration(seconds*float64(time.Second)), averageHalfLife)
	l.Sum, l.Seconds = l.Sum*f+calls, l.Seconds*f+seconds
	if first {
		l.Now = calls / seconds
		return
	}
	expected := l.Now * seconds
	l.Burstiness.observe(calls, before*seconds, scale, usual)
	size := l.Burstiness.size(usual)
	scale *= size
	if changed(calls, expected, scale) {
		l.Now, l.Run, l.RunSeconds = calls/seconds, 0, 0
		return
	}
	side := 1.0
	if calls < expected {
		side = -1
	}
	if l.RunSeconds*side <= 0 {
		l.Run, l.RunSeconds = 0, 0
	}
	l.Run += calls
	l.RunSeconds += side * seconds
	if long := math.Abs(l.RunSeconds); changed(l.Run, l.Now*long, scale) {
		l.Now, l.Run, l.RunSeconds = l.Run/long, 0, 0
		return
	}
	alpha := min(1, max(calls, expected)/(levelCalls*scale)+seconds/(levelSeconds*min(size, levelBunches)))
	l.Now += alpha * (calls/seconds - l.Now)
}

// changed reports whether calls differ significantly from those expected. The square root is chance; the added
// term is its longer tail for small expectations.
func changed(calls, expected, scale float64) bool {
	chance := levelSigmas * (math.Sqrt(expected*scale) + scale)
	return math.Abs(calls-expected) > max(chance, levelChanges*expected)
}

// average returns the mean over the last day, or the method's life if shorter.
func (l *level) average() float64 {
	if l.Seconds <= 0 {
		return 0
	}
	return l.Sum / l.Seconds
}
