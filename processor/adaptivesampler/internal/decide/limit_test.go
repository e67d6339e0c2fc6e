package decide

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// flood draws the records of methods that arrive evenly over a minute, in order of time, with the limit before
// the kept ones. It returns the kept records and the calls that they represent, by method.
func flood(l *Limit, perSecond []float64, p float64, from, to time.Duration) (kept, calls, variance []float64) {
	random := rand.New(rand.NewPCG(1, 1))
	flows := make([]Flow, len(perSecond))
	for i := range flows {
		flows[i].Rate = 1
	}
	kept, calls, variance = make([]float64, len(flows)), make([]float64, len(flows)), make([]float64, len(flows))
	const steps = 1200
	for s := range steps {
		now := epoch.Add(from + (to-from)*time.Duration(s)/steps)
		for i := range flows {
			n := perSecond[i] * p * (to - from).Seconds() / steps
			for whole := int(n + random.Float64()); whole > 0; whole-- {
				f := &flows[i]
				f.Records++
				f.Weight += 1 / p
				out := min(p, f.Rate)
				variance[i] += (1/out - 1/p) / p
				if random.Float64() >= out/p {
					continue
				}
				kept[i]++
				calls[i] += 1 / out
				if l.Keep(1, f.Pinned) {
					level, ahead := l.Review(now, flows)
					for j := range flows {
						if rate, less := flows[j].Cut(level, ahead); less {
							flows[j].Rate = rate
						}
					}
				}
			}
		}
	}
	return kept, calls, variance
}

func sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

func TestLimit_HoldsFromFirstRecord(t *testing.T) {
	var methods []float64 // 0.5 to 200,000 calls a second
	for i := range 60 {
		methods = append(methods, 0.5*math.Pow(400_000, float64(i)/59))
	}
	for _, c := range []struct {
		name     string
		from, to time.Duration
	}{{"whole interval", 0, time.Minute}, {"from the middle on", 30 * time.Second, time.Minute}, {"all at once", 0, 5 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			var l Limit
			l.Begin(epoch, epoch.Add(time.Minute), time.Minute, 25)
			kept, calls, variance := flood(&l, methods, 0.01, c.from, c.to)
			assert.LessOrEqual(t, sum(kept), 1.02*1500)
			for i, n := range kept {
				want := methods[i] * (c.to - c.from).Seconds()
				if variance[i] == 0 {
					assert.Equal(t, n*100, calls[i], "a rare one is not cut")
				} else {
					assert.InDelta(t, want, calls[i], 4.5*math.Sqrt(variance[i]+want/0.01))
				}
				if c.to-c.from > 10*time.Second && want*0.01 > 100 {
					assert.GreaterOrEqual(t, n, 10.0)
				}
			}
			if c.to-c.from > 10*time.Second {
				assert.GreaterOrEqual(t, sum(kept), 0.75*1500, "and it is not cut to nothing")
			}
		})
	}
}

func TestLimit_LoadAtTargetNotCut(t *testing.T) {
	var l Limit
	l.Begin(epoch, epoch.Add(time.Minute), time.Minute, 25)
	kept, _, _ := flood(&l, []float64{1000, 700, 700}, 0.01, 0, time.Minute)
	within(t, 24*60, sum(kept), 0.03)
}

func TestLimit_PinsNotCutAndLeaveTenth(t *testing.T) {
	var l Limit
	l.Begin(epoch, epoch.Add(time.Minute), time.Minute, 25)
	flows := []Flow{{Records: 3000, Weight: 3000, Rate: 1, Pinned: true}, {Records: 3000, Weight: 3000, Rate: 1}}
	l.Keep(1500, true)
	level, ahead := l.Review(epoch.Add(25*time.Second), flows)
	_, less := flows[0].Cut(level, ahead)
	assert.False(t, less)
	rate, less := flows[1].Cut(level, ahead)
	assert.True(t, less)
	within(t, 150, rate*3000*ahead, 0.01)
}

func TestLimit_LateServiceGetsShare(t *testing.T) {
	var l Limit
	l.Begin(epoch.Add(30*time.Second), epoch.Add(time.Minute), time.Minute, 25)
	assert.Equal(t, 750.0, l.Most)
	l.Begin(epoch.Add(59*time.Second), epoch.Add(time.Minute), time.Minute, 25)
	assert.Equal(t, 375.0, l.Most)
}

// At the limit itself a review is due, however few records are left before it.
func TestLimit_ReviewDueAtLimit(t *testing.T) {
	var l Limit
	l.Begin(epoch, epoch.Add(time.Minute), time.Minute, 25)
	flows := []Flow{{Records: 1485, Weight: 148500, Rate: 1}}
	l.Keep(1485, false)
	l.Review(epoch.Add(55*time.Second), flows)
	assert.Equal(t, 1500*(1-1./mostReviews), l.Due)
	l.Keep(4, false)
	level, ahead := l.Review(epoch.Add(55*time.Second), flows)
	rate, less := flows[0].Cut(level, ahead)
	assert.True(t, less)
	assert.Less(t, rate, 1e-9, "the processor's own bound is above")
	assert.Greater(t, l.Due, 1500.0, "the next one is not due at each record")
}

// First records of unknown methods can exceed the limit. The number of reviews, which cover all methods, does not
// grow with them.
func TestLimit_FewReviewsAboveLimit(t *testing.T) {
	var l Limit
	l.Begin(epoch, epoch.Add(time.Minute), time.Minute, 20)
	var flows []Flow
	done := 0
	for range 40_000 {
		flows = append(flows, Flow{Records: 1, Weight: 100, Rate: 1})
		if l.Keep(1, false) {
			l.Review(epoch.Add(time.Second), flows)
			done++
		}
	}
	assert.Less(t, done, 100)
}
