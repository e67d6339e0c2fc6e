package decide

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func budgetOf(perSecond float64) func(*Config) {
	return func(c *Config) { c.Budget.RecordsPerSecond = perSecond }
}

// planned returns the records per second of the decisions.
func (b *bench) planned() float64 {
	total := 0.0
	for _, d := range b.last {
		total += d.P * d.CallsPerSecond
	}
	return total
}

func TestBudget_SpentNotExceeded(t *testing.T) {
	b := newBench(t, budgetOf(50))
	var seen []Observation
	for i := range 300 {
		calls := math.Pow(10, float64(i%7)) * 6 // per minute
		seen = append(seen, called(named(shop, fmt.Sprint(i)), calls, 0.001, 1e5, 1))
	}
	b.steps(30, seen...)
	within(t, 50, b.planned(), 0.05)
	within(t, b.planned(), b.s.Stats().Planned, 1e-9)
}

func TestBudget_RecordsByOwnCostAndSpread(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Budget.RecordsPerSecond, c.Budget.UniformShare, c.Budget.TotalShare, c.Budget.RestShare, c.FloorRecordsPerDay = 2, 0, 0, 0, 0
		c.MinRate = 1e-9
	})
	plain := called(named(shop, "plain"), 6e6, 1e-3, 4e5, 1)
	often := called(named(shop, "often"), 4*6e6, 1e-3, 4e5, 1)
	wide := called(named(shop, "wide"), 6e6, 1e-3, 4e5, 2)
	small := called(named(shop, "small"), 6e6, 1e-3, 1e3, 1)
	outer := called(named(shop, "outer"), 6e6, 1e-3, 4e5, 1) // nearly all of it in its callees
	outer.CalleeCPU = 6e6 * 399e3
	outer.CalleeWall = outer.CalleeCPU
	b.steps(60, plain, often, wide, small, outer)
	records := func(s Observation) float64 { return b.decision(s.Key).P * s.Calls }
	within(t, 1, records(often)/records(plain), 0.1)
	within(t, 4, records(wide)/records(plain), 0.1)
	assert.Less(t, records(small)/records(plain), 0.02)
	assert.Less(t, records(outer)/records(plain), 0.1, "its own cost is small")
}

// A few expensive methods decide the error of the total, and have a share for that.
func TestBudget_ReservesShareForTotal(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Budget.RecordsPerSecond, c.Budget.UniformShare, c.Budget.TotalShare, c.MinRate = 10, 0, 0.5, 1e-9
	})
	seen := []Observation{called(named(shop, "expensive"), 6e6, 1e-3, 1e8, 1)}
	for i := range 100 {
		seen = append(seen, called(named(shop, fmt.Sprint(i)), 6e6, 1e-3, 1e4, 2))
	}
	b.steps(60, seen...)
	d := b.decision(seen[0].Key)
	assert.GreaterOrEqual(t, d.P*d.CallsPerSecond, 0.94*5)
	within(t, 10, b.planned(), 0.06)
}

func TestBudget_RareMethodsGetFloor(t *testing.T) {
	b := newBench(t, budgetOf(50))
	busy := called(named(shop, "busy"), 6e7, 1e-5, 1e7, 1)
	rare := called(named(shop, "rare"), 1, 0.01, 10, 1)           // 1,440 a day
	rarest := called(named(shop, "rarest"), 100.0/1440, 1, 10, 1) // 100 a day
	b.steps(60, busy, rare, rarest)
	assert.GreaterOrEqual(t, b.decision(rare.Key).P*1440, 200*(1-smallChange))
	assert.Equal(t, 1.0, b.decision(rarest.Key).P)
}

func TestBudget_ScalesExcessiveFloors(t *testing.T) {
	b := newBench(t, budgetOf(1))
	var seen []Observation
	for i := range 1000 { // 200 a day each would be 2.3 a second
		seen = append(seen, called(named(shop, fmt.Sprint(i)), 60, 0.001, 1e5, 1))
	}
	b.steps(30, seen...)
	within(t, 1, b.planned(), 0.06)
}

func TestBudget_IncludesPins(t *testing.T) {
	b := newBench(t, budgetOf(50))
	pinned := called(named(shop, "pinned"), 40*60, 1, 1e5, 1)
	pinned.Rule = ruled(t, `"rate": 1`)
	free := called(named(shop, "free"), 6e6, 1e-3, 1e5, 1)
	b.steps(20, pinned, free)
	within(t, 10, b.decision(free.Key).P*1e5, 0.06)
}

// Pinned rates above the budget leave a tenth of it to the others, and a warning is reported.
func TestBudget_PinsLeaveTenth(t *testing.T) {
	b := newBench(t, budgetOf(50))
	pinned := called(named(shop, "pinned"), 1000*60, 1, 1e5, 1)
	pinned.Rule = ruled(t, `"rate": 1`)
	free := called(named(shop, "free"), 6e6, 1e-3, 1e5, 1)
	b.steps(20, free)
	assert.Zero(t, b.s.Stats().OverdrawnBudgets)
	b.steps(20, pinned, free)
	assert.Equal(t, 1.0, b.decision(pinned.Key).P)
	within(t, 5, b.decision(free.Key).P*1e5, 0.06)
	assert.Equal(t, 1, b.s.Stats().OverdrawnBudgets)
}

func TestBudget_WarnsOfExcessiveFloors(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Budget.RecordsPerSecond, c.ForgetAfter = 0.1, time.Hour })
	var seen []Observation
	for i := range 100 {
		seen = append(seen, called(named(shop, fmt.Sprint(i)), 60, 0.001, 1e5, 1))
	}
	b.steps(30, seen...)
	assert.Equal(t, 1, b.s.Stats().OverdrawnBudgets)
	b.steps(61, seen[:10]...)
	assert.Zero(t, b.s.Stats().OverdrawnBudgets, "most have gone")
}

func TestBudget_GlobalOrPerService(t *testing.T) {
	for per, want := range map[string]float64{PerAll: 50, PerService: 100} {
		b := newBench(t, func(c *Config) { c.Budget.RecordsPerSecond, c.Budget.Per = 50, per })
		other := Group{Service: "mail", Version: "1"}
		b.steps(20, called(named(shop, "m"), 6e6, 1e-3, 1e5, 1), called(named(other, "m"), 6e6, 1e-3, 1e5, 1))
		within(t, want, b.planned(), 0.06)
	}
}

// Two versions that are first seen in one step are decided alike in either order of their observations, because
// the order is chance.
func TestVersions_OrderIndependentWithinStep(t *testing.T) {
	other := shop
	other.Version = "2"
	few, flood := called(named(shop, "M"), 900, 0.01, 1e6, 0), called(named(other, "M"), 300_000, 0.01, 1e6, 0)
	var rates [2][2]float64
	for i, seen := range [][]Observation{{few, flood}, {flood, few}} {
		b := newBench(t, func(c *Config) { c.Strategy = StrategyBudget; c.Budget.RecordsPerSecond = 5 })
		b.steps(3, seen...)
		rates[i] = [2]float64{b.decision(few.Key).P, b.decision(flood.Key).P}
	}
	assert.InDeltaSlice(t, rates[0][:], rates[1][:], 1e-9)
}
