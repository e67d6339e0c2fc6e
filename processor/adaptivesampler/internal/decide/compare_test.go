package decide

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

var newer = Group{Service: "shop", Version: "2"}

// rollout is a service whose new version has a tenth of the calls.
func rollout(b *bench, minutes int) (old, next Decision) {
	b.t.Helper()
	for range minutes {
		before := called(named(shop, "m"), 9e5, b.rate(named(shop, "m")), 1e6, 1)
		after := called(named(newer, "m"), 1e5, b.rate(named(newer, "m")), 1e6, 1)
		rest := called(named(shop, "rest"), 1e6, b.rate(named(shop, "rest")), 1e6, 1)
		b.step(before, after, rest)
	}
	return b.decision(named(shop, "m")), b.decision(named(newer, "m"))
}

// rate is the one in force.
func (b *bench) rate(key Key) float64 {
	if d, ok := b.last[key]; ok {
		return d.P
	}
	return 0.01
}

func ordinary(b *bench) {
	b.t.Helper()
	for range 30 {
		b.step(called(named(shop, "m"), 1e6, b.rate(named(shop, "m")), 1e6, 1), called(named(shop, "rest"), 1e6, b.rate(named(shop, "rest")), 1e6, 1))
	}
}

func TestCompare_EqualRecordsPerVersion(t *testing.T) {
	b := newBench(t, budgetOf(20))
	ordinary(b)
	assert.Zero(t, b.s.Stats().Boosted)
	old, next := rollout(b, 10)
	assert.Equal(t, 1, b.s.Stats().Boosted)
	assert.Equal(t, reasonCompared, next.Reason)
	within(t, 1, next.P*next.CallsPerSecond/(old.P*old.CallsPerSecond), 0.06)
	rest := b.decision(named(shop, "rest"))
	assert.Greater(t, next.P*next.CallsPerSecond, rest.P*rest.CallsPerSecond, "what is compared has more than what is not")
	within(t, 20, b.planned(), 0.05)
}

func TestBoost_NewVersionAndControls(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Strategy = StrategyTiers
		c.Classes.InnerCallsPerSecond = 1e6
		c.Classes.MidRate = 0.001
	})
	ordinary(b)
	old, next := rollout(b, 10)
	assert.InEpsilon(t, 0.004, next.P, 1e-9)
	assert.InEpsilon(t, 0.001, old.P, 1e-9, "has nine times as many records already")
	assert.Equal(t, 0.001, b.decision(named(shop, "rest")).P)
}

func TestBoost_EndsAtDeadline(t *testing.T) {
	b := newBench(t, func(c *Config) { budgetOf(2)(c); c.Boost.Effect = 0.001 })
	ordinary(b)
	rollout(b, 120)
	assert.Equal(t, 1, b.s.Stats().Boosted)
	_, next := rollout(b, 5)
	assert.Zero(t, b.s.Stats().Boosted)
	assert.NotEqual(t, reasonCompared, next.Reason)
}

func TestBoost_EndsWithPower(t *testing.T) {
	b := newBench(t, func(c *Config) { budgetOf(2)(c); c.Boost.Effect = 0.5 })
	need := recordsFor(1, 0.5)
	ordinary(b)
	_, next := rollout(b, 2)
	assert.Equal(t, reasonCompared, next.Reason)
	minutes := 0
	for next.Reason == reasonCompared && minutes < 60 {
		_, next = rollout(b, 1)
		minutes++
	}
	assert.Less(t, minutes, 30)
	assert.Greater(t, next.SpreadRecords, need)
}

func TestBoost_EndsWithControls(t *testing.T) {
	b := newBench(t, budgetOf(2))
	ordinary(b)
	rollout(b, 10)
	for range runningIntervals + 1 {
		b.step(called(named(newer, "m"), 1e6, b.rate(named(newer, "m")), 1e6, 1))
	}
	assert.Zero(t, b.s.Stats().Boosted)
}

// Two versions that are first seen together have no order.
func TestBoost_NoNewVersionAtStart(t *testing.T) {
	b := newBench(t, nil)
	rollout(b, 5)
	assert.Zero(t, b.s.Stats().Boosted)
}

func TestBoost_Disabled(t *testing.T) {
	b := newBench(t, func(c *Config) { budgetOf(2)(c); c.Boost.Enabled = false })
	ordinary(b)
	_, next := rollout(b, 20)
	assert.Zero(t, b.s.Stats().Boosted)
	assert.NotEqual(t, reasonCompared, next.Reason)
}

// A new version starts with the wider of the spread of the one before and that of the service: a method that
// was even before need not be so any longer.
func TestCompare_NewVersionInheritsSpread(t *testing.T) {
	b := newBench(t, nil)
	for range 60 {
		b.step(called(named(shop, "even"), 1e4, 0.1, 1e6, 0.1), called(named(shop, "wild"), 1e4, 0.1, 1e6, 3))
	}
	next := func(name string) Observation {
		return Observation{Key: named(newer, name), Calls: 10}
	}
	b.step(called(named(shop, "even"), 1e4, 0.1, 1e6, 0.1), called(named(shop, "wild"), 1e4, 0.1, 1e6, 3), next("even"), next("wild"))
	pooled := 1.55 // of one even and one wild
	within(t, pooled, b.decision(named(newer, "even")).Spread, 0.05)
	within(t, 3, b.decision(named(newer, "wild")).Spread, 0.05)
}

// A method whose calls look more expensive gets more records than one that costs the same, until it is certain.
func TestCompare_SuspiciousMethodGetsRecords(t *testing.T) {
	b := newBench(t, func(c *Config) { budgetOf(20)(c); c.Budget.UniformShare, c.Budget.TotalShare = 0, 0 })
	step := func(version Group, slower float64) (all []Observation) {
		for i := range 100 {
			mean := 1e6
			if i == 0 {
				mean *= slower
			}
			key := named(version, fmt.Sprint(i))
			all = append(all, called(key, 1e5, b.rate(key), mean, 1))
		}
		return all
	}
	for range 30 {
		b.step(step(shop, 1)...)
	}
	reasons := map[string]bool{}
	var most float64
	for range 40 {
		b.step(append(step(shop, 1), step(newer, 2)...)...)
		slow, same := b.decision(named(newer, "0")), b.decision(named(newer, "1"))
		reasons[slow.Reason] = true
		assert.NotEqual(t, reasonSuspicious, same.Reason)
		if slow.Reason == reasonSuspicious {
			most = max(most, slow.P/same.P)
		}
	}
	assert.Contains(t, reasons, reasonSuspicious)
	assert.Greater(t, most, 2.5)
	assert.NotEqual(t, reasonSuspicious, b.decision(named(newer, "0")).Reason, "certain by now")
}
