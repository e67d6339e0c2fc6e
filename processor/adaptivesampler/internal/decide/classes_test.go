package decide

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func tiered(c *Config) { c.Strategy = StrategyTiers }

// from returns a method with the given share of calls from outside.
func from(method string, calls, entry float64) Observation {
	s := called(named(shop, method), calls, 1, 1e6, 1)
	s.Entry = entry * s.Called
	return s
}

func TestClass_ByPlaceAndFrequency(t *testing.T) {
	b := newBench(t, tiered)
	entry, mid, inner := from("entry", 6e3, 0.9), from("mid", 6e3, 0.1), from("inner", 6e6, 0.9)
	b.step(entry, mid, inner)
	for key, want := range map[Key]struct {
		class string
		p     float64
	}{entry.Key: {ClassEntry, 1}, mid.Key: {ClassMid, 0.05}, inner.Key: {ClassInner, 0.001}} {
		assert.Equal(t, want.class, b.decision(key).Class)
		assert.Equal(t, want.p, b.decision(key).P)
	}
}

func TestClass_StableAtThreshold(t *testing.T) {
	b := newBench(t, tiered)
	changes, was := 0, ""
	for i := range 600 { // between 900 and 1,100 calls a second, in waves of every length
		calls := 6e4 * (1 + 0.1*float64(i%(2+i/20)%2*2-1))
		b.step(from("m", calls, 0))
		if is := b.decision(named(shop, "m")).Class; is != was {
			changes, was = changes+1, is
		}
	}
	assert.LessOrEqual(t, changes, 2, "its first, and one for good")
}

func TestClass_ChangesAfterSeveralIntervals(t *testing.T) {
	b := newBench(t, func(c *Config) { tiered(c); c.HalfLife = c.Interval })
	b.steps(10, from("m", 600, 1))
	var was []string
	for range 10 {
		b.step(from("m", 600, 0))
		was = append(was, b.decision(named(shop, "m")).Class)
	}
	assert.Equal(t, ClassEntry, was[4])
	assert.Equal(t, ClassMid, was[9])
}

func TestClass_MethodFileOverrides(t *testing.T) {
	b := newBench(t, tiered)
	s := from("m", 6e3, 1)
	s.Rule = ruled(t, `"rate": 0.2, "max": 0.5`)
	b.step(s)
	assert.Equal(t, 0.2, b.decision(s.Key).P)
	assert.Equal(t, reasonFile, b.decision(s.Key).Reason)
	assert.Equal(t, ClassEntry, b.decision(s.Key).Class)
}
