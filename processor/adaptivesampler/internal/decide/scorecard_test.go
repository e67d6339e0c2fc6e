package decide

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/corehour/corehour/internal/methodfile"
)

func scored(c *Config) { c.Scorecard.Enabled = true }

// timed returns a method with the given calls a minute, each with the same time.
func timed(method string, calls, p float64, each time.Duration) Observation {
	s := called(named(shop, method), calls, p, float64(each), 0)
	if each >= 10*time.Microsecond {
		s.Above = s.Wall.Weight
	}
	return s
}

func TestScorecard_CheapOffExpensiveUnmanaged(t *testing.T) {
	b := newBench(t, scored)
	cheap, expensive := timed("cheap", 6e4, 0.01, time.Microsecond), timed("expensive", 6e4, 0.01, 50*time.Microsecond)
	b.step(cheap, expensive)
	assert.Equal(t, ScoreOff, b.decision(cheap.Key).Score, "100,000 - 60,000 * (1 + 2)")
	assert.Equal(t, methodfile.ModeOff, b.decision(cheap.Key).Mode)
	assert.Equal(t, ScoreNormal, b.decision(expensive.Key).Score)
	assert.Equal(t, 1, b.s.Stats().Off)
	b.steps(6, expensive)
	assert.Equal(t, ScoreNormal, b.decision(expensive.Key).Score, "100,000 + 7 * 120,000")
	b.step(expensive)
	assert.Equal(t, ScoreHotspot, b.decision(expensive.Key).Score)
	b.steps(80, expensive)
	assert.Equal(t, ScoreUnmanaged, b.decision(expensive.Key).Score)
	lighter := timed("expensive", 6e4, 0.01, time.Microsecond)
	b.steps(100, lighter)
	assert.Equal(t, ScoreUnmanaged, b.decision(expensive.Key).Score, "its account is closed")
}

func TestScorecard_HotspotBecomesNormal(t *testing.T) {
	b := newBench(t, scored)
	heavy, light := timed("m", 6e4, 0.01, 50*time.Microsecond), timed("m", 6e4, 0.01, time.Microsecond)
	heavy.Called, light.Called = 0, 0 // inclusive time alone: the mean behind exclusive time has a long memory
	b.steps(16, heavy)
	assert.Equal(t, ScoreHotspot, b.decision(named(shop, "m")).Score)
	b.steps(3, light)
	assert.Equal(t, ScoreNormal, b.decision(named(shop, "m")).Score)
}

// The article's example: 20 us inclusive, 1 us exclusive, is +1 and -2.
func TestScorecard_InclusiveAndExclusiveTime(t *testing.T) {
	outer := timed("outer", 6e3, 0.1, 20*time.Microsecond)
	outer.CalleeWall = 6e3 * float64(19*time.Microsecond)

	b := newBench(t, scored)
	b.steps(16, outer)
	assert.Equal(t, ScoreNormal, b.decision(outer.Key).Score, "100,000 - 16 * 6,000")
	b.step(outer)
	assert.Equal(t, ScoreOff, b.decision(outer.Key).Score)

	unknown := outer
	unknown.Called = 0
	b = newBench(t, scored)
	b.steps(200, unknown)
	assert.Equal(t, ScoreHotspot, b.decision(outer.Key).Score, "without callers nothing is known of exclusive time")
}

func TestScorecard_CPU(t *testing.T) {
	waits := timed("waits", 6e4, 0.01, 50*time.Microsecond)
	waits.CPU = timed("waits", 6e4, 0.01, time.Microsecond).CPU
	waits.Above = 0
	b := newBench(t, func(c *Config) { scored(c); c.Scorecard.Meter = MeterCPU })
	b.step(waits)
	assert.Equal(t, ScoreOff, b.decision(waits.Key).Score)
}

func TestProbation_DoublesBackOff(t *testing.T) {
	b := newBench(t, func(c *Config) { scored(c); c.Scorecard.MaxBackOff = 30 * time.Minute })
	cheap, other := timed("cheap", 6e4, 0.01, time.Microsecond), timed("other", 60, 1, time.Millisecond)
	b.step(cheap, other)
	for _, off := range []int{10, 20, 30, 30} {
		for range off - 1 {
			b.step(other)
			assert.Equal(t, methodfile.ModeOff, b.decision(cheap.Key).Mode, off)
		}
		b.step(other)
		assert.Equal(t, methodfile.ModeSample, b.decision(cheap.Key).Mode, "tried again after %d minutes", off)
		b.step(cheap, other)
		assert.Equal(t, methodfile.ModeOff, b.decision(cheap.Key).Mode)
	}
}

func TestProbation_PassResetsBackOff(t *testing.T) {
	b := newBench(t, scored)
	cheap, heavy := timed("m", 6e4, 0.01, time.Microsecond), timed("m", 6e4, 0.01, time.Millisecond)
	cheap.Called, heavy.Called = 0, 0
	b.steps(2, cheap)
	b.steps(10)
	b.steps(2, heavy)
	assert.Equal(t, ScoreNormal, b.decision(cheap.Key).Score)
	b.steps(3, cheap)
	assert.Equal(t, ScoreOff, b.decision(cheap.Key).Score)
	b.steps(9)
	assert.Equal(t, ScoreOff, b.decision(cheap.Key).Score)
	b.steps(1)
	assert.Equal(t, ScoreNormal, b.decision(cheap.Key).Score)
}

func TestScorecard_PinsOverride(t *testing.T) {
	b := newBench(t, scored)
	cheap := timed("cheap", 6e6, 0.01, time.Microsecond)
	cheap.Rule = ruled(t, `"rate": 0.01`)
	b.steps(10, cheap)
	assert.Equal(t, methodfile.ModeSample, b.decision(cheap.Key).Mode)
	assert.Empty(t, b.decision(cheap.Key).Score)
}

func TestScorecard_FewRecordsNeverOff(t *testing.T) {
	b := newBench(t, scored)
	b.steps(9, timed("m", 1e6, 1e-5, time.Microsecond)) // ten records a minute
	assert.Equal(t, ScoreNormal, b.decision(named(shop, "m")).Score)
	b.step(timed("m", 1e6, 1e-5, time.Microsecond))
	assert.Equal(t, ScoreOff, b.decision(named(shop, "m")).Score)
}

func TestScorecard_NewVersionRetriesOff(t *testing.T) {
	b := newBench(t, scored)
	cheap := timed("cheap", 6e4, 0.01, time.Microsecond)
	b.step(cheap)
	assert.Equal(t, ScoreOff, b.decision(cheap.Key).Score)
	next := timed("cheap", 600, 0.5, time.Microsecond)
	next.Key.Version = "2"
	b.steps(5, next)
	assert.Equal(t, ScoreNormal, b.decision(next.Key).Score)
	b.steps(5, next)
	assert.Equal(t, ScoreOff, b.decision(next.Key).Score, "with the small balance of a probation")
}

// The rate affects the precision of the account, not its expected value: the same calls bring a method to the same
// balance after the same time.
func TestScorecard_IndependentOfRate(t *testing.T) {
	ends := func(p float64, above float64) (minutes int) {
		r := rand.New(rand.NewPCG(1, uint64(1e6*p)))
		b := newBench(t, func(c *Config) { scored(c); c.Scorecard.InitialBalance = 9e5 })
		for minutes < 1000 {
			minutes++
			s := Observation{Key: named(shop, "m"), Calls: 6e4, Arrived: p}
			for range int(6e4 * p) {
				s.Wall.Records++
				s.Wall.Weight += 1 / p
				if r.Float64() < above {
					s.Above += 1 / p
				}
			}
			s.Wall.Sum = s.Wall.Weight * 1e4
			b.step(s)
			if label := b.decision(s.Key).Score; label == ScoreOff || label == ScoreUnmanaged {
				return minutes
			}
		}
		return minutes
	}
	for _, above := range []float64{0.3, 0.8} { // down by 24,000 a minute, up by 36,000
		want := ends(1, above)
		for _, p := range []float64{0.1, 0.01, 0.001} {
			found := ends(p, above)
			within(t, float64(want), float64(found), 0.2)
		}
	}
}

// In shadow the account reports methods that would be off, and every call is still counted.
func TestScorecard_ShadowNeverOff(t *testing.T) {
	b := newBench(t, func(c *Config) { scored(c); c.Scorecard.Shadow = true })
	cheap, other := timed("cheap", 6e4, 0.01, time.Microsecond), timed("other", 60, 1, time.Millisecond)
	for i := range 30 {
		b.step(cheap, other)
		if i == 0 {
			assert.Equal(t, ScoreWouldBe, b.decision(cheap.Key).Score)
		}
		assert.Equal(t, methodfile.ModeSample, b.decision(cheap.Key).Mode)
		assert.Positive(t, b.decision(cheap.Key).P)
		assert.Zero(t, b.s.Stats().Off)
	}
}
