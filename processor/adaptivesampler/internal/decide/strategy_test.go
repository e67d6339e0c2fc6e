package decide

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
)

// Tests that every strategy passes.

func using(name string) func(*Config) { return func(c *Config) { c.Strategy = name } }

func TestStrategy_PinOverrides(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		pinned := called(named(shop, "pinned"), 1e6, 0.01, 1e6, 1)
		pinned.Rule = ruled(t, `"rate": 0.25`)
		off := called(named(shop, "off"), 1e6, 0.01, 1e6, 1)
		off.Rule = ruled(t, `"mode": "off"`)
		all := called(named(shop, "all"), 1e6, 0.01, 1e6, 1)
		all.Rule = ruled(t, `"mode": "aggregate"`)
		for range 20 {
			b.step(pinned, off, all)
			assert.Equal(t, 0.25, b.decision(pinned.Key).P)
			assert.Equal(t, methodfile.ModeOff, b.decision(off.Key).Mode)
			assert.Zero(t, b.decision(off.Key).P)
			assert.Equal(t, rates.Off, b.decision(off.Key).State)
			assert.Equal(t, methodfile.ModeAggregate, b.decision(all.Key).Mode)
			assert.Equal(t, 1.0, b.decision(all.Key).P)
		}
	})
}

func TestStrategy_MethodFileBounds(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		busy := called(named(shop, "busy"), 1e8, 1e-4, 1e3, 1)
		busy.Rule = ruled(t, `"min": 0.002`)
		rare := called(named(shop, "rare"), 1, 0.1, 1e3, 1)
		rare.Rule = ruled(t, `"max": 0.05`)
		b.steps(20, busy, rare)
		assert.GreaterOrEqual(t, b.decision(busy.Key).P, 0.002)
		assert.LessOrEqual(t, b.decision(rare.Key).P, 0.05)
	})
}

func TestStrategy_RatesFallAtOnceRiseInSteps(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		m := called(named(shop, "m"), 6000, 1, 1e3, 1)
		m.Rule = ruled(t, `"rate": 0.001, "max": 0.001`)
		b.step(m)
		assert.Equal(t, 0.001, b.decision(m.Key).P, "from 1 at once")
		m.Rule = ruled(t, `"rate": 0.1, "min": 0.05`)
		m.Rule.Min = 0
		for i := range 6 {
			b.step(m)
			assert.InEpsilon(t, 0.001*math.Exp2(float64(i+1)), b.decision(m.Key).P, 1e-9)
			assert.Equal(t, reasonRising, b.decision(m.Key).Reason)
		}
		b.step(m)
		assert.Greater(t, b.decision(m.Key).P, 0.09)
	})
}

func TestStrategy_NewOwnerStartsAtArrivingRate(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		rare := called(named(shop, "m"), 0.05, 0.3, 1e3, 1)
		b.step(rare)
		assert.InDelta(t, 0.6, b.decision(rare.Key).P, 1e-9, "twice what arrived, and not twice the cold start")
	})
}

func TestStrategy_UnseenMethodsColdStart(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, func(c *Config) { c.Strategy = name; c.ColdStart.Rate = 0.125 })
		assert.Equal(t, 0.125, b.s.Unknown(shop).P)
	})
}

func TestStrategy_OverflowSharesRate(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, func(c *Config) { c.Strategy = name; c.MaxMethods = 10 })
		var seen []Observation
		for i := range 100 {
			seen = append(seen, called(named(shop, fmt.Sprint(i)), 6000, 0.01, 1e6, 1))
		}
		b.steps(10, seen...)
		assert.Len(t, b.last, 11)
		assert.Equal(t, int64(90*10), b.s.Stats().Overflowed)
		shared := b.decision(shop.Overflow())
		assert.Equal(t, rates.Overflow, shared.State)
		within(t, 90*100, shared.CallsPerSecond, 0.01)
		assert.LessOrEqual(t, shared.P, 0.01)
		assert.LessOrEqual(t, b.s.Unknown(shop).P, shared.P)
	})
}

func TestStrategy_FullEvictsIdle(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, func(c *Config) { c.Strategy = name; c.MaxMethods = 2 })
		b.step(called(named(shop, "old"), 60, 0.01, 1e6, 1), called(named(shop, "busy"), 60, 0.01, 1e6, 1))
		b.steps(59, called(named(shop, "busy"), 60, 0.01, 1e6, 1))
		b.step(called(named(shop, "busy"), 60, 0.01, 1e6, 1), called(named(shop, "new"), 60, 0.01, 1e6, 1))
		assert.Contains(t, b.last, named(shop, "new"))
		assert.NotContains(t, b.last, named(shop, "old"))
		assert.Equal(t, int64(1), b.s.Stats().Forgotten)
	})
}

func TestStrategy_ForgetsGoneMethods(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, func(c *Config) { c.Strategy = name; c.ForgetAfter = time.Hour })
		b.step(called(named(shop, "m"), 60, 0.01, 1e6, 1))
		b.steps(59)
		assert.Contains(t, b.last, named(shop, "m"))
		b.steps(1)
		assert.Empty(t, b.last)
		assert.Zero(t, b.s.Stats().Methods)
	})
}

// A service whose processes are silent keeps its rates: raised ones would flood the collector when the processes
// are back.
func TestStrategy_SilentServiceKeepsRates(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		busy := called(named(shop, "m"), 6e6, 0.001, 1e6, 1)
		b.steps(20, busy)
		before := b.decision(busy.Key)
		b.steps(30)
		after := b.decision(busy.Key)
		assert.Equal(t, before.P, after.P)
		assert.Equal(t, reasonResting, after.Reason)
		assert.Equal(t, before.CallsPerSecond, after.CallsPerSecond)
	})
}

// An inner loop that rests must not wake up at a rate made for rest.
func TestStrategy_IdleMethodKeepsWorkingRate(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		batch, other := called(named(shop, "batch"), 6e7, 1e-4, 1e3, 1), called(named(shop, "other"), 6e6, 1e-4, 1e3, 1)
		b.steps(60, batch, other)
		b.steps(600, other)
		assert.Less(t, b.decision(batch.Key).P, 0.02)
	})
}

func TestStrategy_IgnoresFaultySums(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		good := called(named(shop, "m"), 6000, 0.01, 1e6, 1)
		b.steps(5, good)
		for _, x := range []float64{math.NaN(), math.Inf(1), -1, 1e200} {
			bad := good
			bad.Wall = WeightedSums{x, x, x, x}
			bad.CPU = bad.Wall
			bad.Entry, bad.Called, bad.Above, bad.CalleeWall, bad.Arrived = x, x, x, x, x
			b.step(bad)
			bad.Calls = x
			b.step(bad)
		}
		b.steps(5, good)
		within(t, 1e6, b.decision(good.Key).Mean, 1e-6)
		within(t, 100, b.decision(good.Key).CallsPerSecond, 1e-6)
	})
}

// Means and spreads must not depend on the rate that records were kept with:
// unweighted, the cheap half with p = 0.01 would count a hundredth.
func TestStrategy_WeightedMeans(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		cheap, expensive := called(named(shop, "m"), 1e5, 0.01, 1e3, 0), called(named(shop, "m"), 1e5, 1, 3e3, 0)
		for range 10 {
			b.step(cheap)
			b.step(expensive)
		}
		d := b.decision(cheap.Key)
		within(t, 2e3, d.Mean, 0.001)
		within(t, 0.5, d.Spread, 0.01) // sd 1000 of mean 2000
	})
}

func TestStrategy_ForeignMethodsOnlyGetRate(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, func(c *Config) { c.Strategy = name; c.Scorecard.Enabled = true })
		foreign := called(named(shop, "GET /"), 6e6, 1e-3, 100, 1) // cheap enough to be switched off
		foreign.Foreign, foreign.CPU = true, WeightedSums{}
		b.steps(20, foreign)
		d := b.decision(foreign.Key)
		assert.Equal(t, methodfile.ModeSample, d.Mode)
		assert.Empty(t, d.Score)
		assert.Equal(t, MeterWall, d.SpreadOf)
		assert.Greater(t, d.P, 0.0)
	})
}

func TestStrategy_FollowsNewMethodFile(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, using(name))
		b.steps(5, called(named(shop, "idle"), 60, 0.01, 1e6, 1))
		rule := ruled(t, `"rate": 0.5`)
		b.s.Rules(func(Key) *methodfile.Rule { return rule })
		b.step()
		require.Equal(t, 0.5, b.decision(named(shop, "idle")).P)
	})
}
