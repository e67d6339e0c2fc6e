package decide

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// uncounted returns a method with records and without counts.
func uncounted(method string, perSecond, p float64) Observation {
	s := called(named(shop, method), 60*perSecond, p, 1e6, 1)
	s.Calls, s.Asked = 0, s.Wall.Records
	return s
}

// Records bound the calls before counts arrive: a hot method's rate is right after the first interval, and no
// rate rises.
func TestColdStart_RecordsBoundCalls(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		b := newBench(t, func(c *Config) { c.Strategy = name })
		hot, rare := uncounted("hot", 200_000, 0.01), uncounted("rare", 5, 0.01)
		for range 4 {
			b.step(hot, rare)
			assert.LessOrEqual(t, b.decision(rare.Key).P, 0.01)
			assert.LessOrEqual(t, b.decision(hot.Key).P, 0.001)
			assert.Equal(t, ClassInner, b.decision(hot.Key).Class)
		}
		if name == StrategyBudget {
			assert.LessOrEqual(t, b.decision(hot.Key).P*200_000, 26.0)
		}
		hot.Calls, rare.Calls = 60*200_000*5, 60*5*5 // of all five minutes
		hot.Asked = 600                              // its process follows
		b.step(hot, rare)
		assert.Greater(t, b.decision(rare.Key).P, 0.01, "its counts have come")
		within(t, 200_000, b.decision(hot.Key).CallsPerSecond, 0.01)
	})
}

// A class guessed from records is replaced by the class that counts show, at once.
func TestColdStart_CountsReplaceGuessedClass(t *testing.T) {
	b := newBench(t, tiered)
	s := uncounted("m", 1100, 0.01)
	b.step(s)
	assert.Equal(t, ClassInner, b.decision(s.Key).Class)
	s = called(s.Key, 2*60*300, 0.01, 1e6, 1)
	b.step(s)
	assert.Equal(t, ClassMid, b.decision(s.Key).Class)
}

// A method that is called far more often than the threshold is an inner one at once.
func TestColdStart_FloodIsInnerAtOnce(t *testing.T) {
	b := newBench(t, tiered)
	b.steps(5, from("m", 6e3, 0))
	b.step(from("m", 20*6e3, 0))
	assert.Equal(t, ClassInner, b.decision(named(shop, "m")).Class)
}

// Processes that ignore the rates keep more than the budget: no rate rises then.
func TestColdStart_NoRaiseWhileOverspent(t *testing.T) {
	b := newBench(t, budgetOf(25))
	var seen []Observation
	for i := range 20 {
		s := called(named(shop, fmt.Sprint(i)), 600, 0.01, 1e6, 1)
		s.Asked = 3000 / 20 // of 1,500
		seen = append(seen, s)
	}
	b.steps(3, seen...)
	for _, s := range seen {
		assert.Equal(t, 0.01, b.decision(s.Key).P)
		assert.Equal(t, reasonStill, b.decision(s.Key).Reason)
	}
	for i := range seen {
		seen[i].Asked = 6
	}
	b.step(seen...)
	assert.Equal(t, 0.02, b.decision(seen[0].Key).P)
}
