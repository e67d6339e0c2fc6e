//go:build !race

package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// The short form of make sim WHAT=sampling: every goal is reached.
func TestSimulation_Short(t *testing.T) {
	table := Short(t.Output())
	require.NotEmpty(t, table.Results)
	for _, f := range table.Results {
		if !f.Met() {
			t.Errorf("%s: %v, want %s than %v", f.Name, f.Value, f.Better, *f.Goal)
		}
	}
}

// The goals can be missed.
func TestSimulation_DetectsMissedGoals(t *testing.T) {
	u := Measure(5, 1)
	assert.Less(t, u.Plain, -0.05, "calls times the plain mean")
	assert.Less(t, u.Dropped, -0.05, "drops that are not aggregated")

	_, budget := budgetOf(50)
	methods := Population(seeds[0], 50, decide.Group{})
	day := OneDay(methods, Uniform(budget), budget, 200, 5, 1)
	assert.Less(t, day.Floor, 0.9, "one rate for all has no floor")

	w := NewWorld(methods, &fixed{1e-3}, 1)
	assert.Greater(t, Change(w, budget, times(100)).TooMany, 2, "rates that never change exceed the budget")

	f := shippedFleet(2, false, 1)
	f.collectors[1].begins -= intervalLong / 2
	f.pass(ordinary)
	f.times = 20
	f.pass(2 * intervalLong)
	assert.Greater(t, slices.Max(f.kept["shop"].perSecond), 2.0*shipped, "two collectors whose intervals don't begin together")
}

// A rate that oscillates is detected as such, one that moves in one direction is not.
func TestSimulation_DetectsOscillation(t *testing.T) {
	count := func(rate func(i int) float64) int {
		var z zigzag
		for i := range 60 {
			z.next(rate(i))
		}
		return z.turns
	}
	assert.Zero(t, count(func(i int) float64 { return math.Pow(1.2, -float64(i)) }))
	assert.Zero(t, count(func(i int) float64 { return 1 + 0.04*float64(i%2) }), "noise")
	assert.Equal(t, 58, count(func(i int) float64 { return 1 + 0.5*float64(i%2) }))
	assert.Equal(t, 1, count(func(i int) float64 { return 1 + math.Abs(float64(i)-30) }))
}

// fixed never changes a rate.
type fixed struct{ rate float64 }

func (f *fixed) Step(_ time.Time, seen []decide.Observation) []decide.Decision {
	decisions := make([]decide.Decision, len(seen))
	for i, s := range seen {
		decisions[i] = decide.Decision{Key: s.Key, P: f.rate}
	}
	return decisions
}

func TestSimulation_Deterministic(t *testing.T) {
	assert.Equal(t, Deploy(50, true, 3), Deploy(50, true, 3))
	assert.NotEqual(t, Deploy(50, true, 3), Deploy(50, true, 4))
}
