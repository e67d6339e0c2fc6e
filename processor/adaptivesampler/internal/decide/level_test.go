package decide

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"
)

func follow(l *level, r *rand.Rand, perMinute float64, minutes int) {
	for range minutes {
		l.observe(distuv.Poisson{Lambda: perMinute, Src: r}.Rand(), 60, 1, l.Now, &burstiness{})
	}
}

func TestLevel_SteadyUnderChance(t *testing.T) {
	for _, perMinute := range []float64{0.1, 1, 10, 100, 1e4} {
		r := rand.New(rand.NewPCG(1, 2))
		var l level
		follow(&l, r, perMinute, 240)
		sum, squares := 0.0, 0.0
		const n = 1000
		for range n {
			follow(&l, r, perMinute, 1)
			sum += l.Now * 60
			squares += l.Now * l.Now * 3600
		}
		mean := sum / n
		sd := math.Sqrt(squares/n-mean*mean) / mean
		within(t, perMinute, mean, 0.15)
		assert.Less(t, sd, max(0.03, 0.3/math.Sqrt(perMinute)), "of %v a minute", perMinute)
	}
}

// Calls that come in groups of 20 move a level no more than as few single calls would. The group size is learned,
// and a step is still followed.
func TestLevel_SteadyUnderBunches(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l level
	var usual burstiness
	var before float64
	bunched := func(perMinute float64) {
		calls := 20 * distuv.Poisson{Lambda: perMinute / 20, Src: r}.Rand()
		l.observe(calls, 60, 1, before, &usual)
		before = calls / 60
	}
	for range 240 {
		bunched(1e4)
	}
	within(t, 20, l.Burstiness.size(&usual), 0.4)
	within(t, 20, usual.Mean, 0.4)
	for range 1000 {
		bunched(1e4)
		within(t, 1e4, l.Now*60, 0.1)
	}
	bunched(1e6)
	within(t, 1e6, l.Now*60, 0.2)
	assert.Less(t, l.Burstiness.size(&usual), 40.0, "a step is no burst")
}

func TestLevel_FollowsStepAtOnce(t *testing.T) {
	for _, factor := range []float64{100, 0.01} {
		r := rand.New(rand.NewPCG(1, 2))
		var l level
		follow(&l, r, 1e3, 60)
		follow(&l, r, 1e3*factor, 1)
		within(t, 1e3*factor, l.Now*60, 0.5)
		follow(&l, r, 1e3*factor, 30)
		within(t, 1e3*factor, l.Now*60, 0.3)
	}
}

func TestLevel_WaitsForLateCounts(t *testing.T) {
	b := newBench(t, budgetOf(50))
	usual := called(named(shop, "m"), 6e6, 1e-3, 1e6, 1)
	b.steps(30, usual)
	before := b.decision(usual.Key)
	late, double := usual, usual
	late.Calls, double.Calls = 0, 2*usual.Calls
	for range 5 {
		b.step(late)
		assert.InEpsilon(t, before.P, b.decision(usual.Key).P, 0.05)
		b.step(double)
		assert.InEpsilon(t, before.P, b.decision(usual.Key).P, 0.05)
		assert.InEpsilon(t, before.CallsPerSecond, b.decision(usual.Key).CallsPerSecond, 1e-6)
	}
	b.steps(3, late)
	assert.Less(t, b.decision(usual.Key).CallsPerSecond, before.CallsPerSecond/2, "not for ever")
}
