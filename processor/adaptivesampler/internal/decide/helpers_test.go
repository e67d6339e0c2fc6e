package decide

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodfile"
)

var (
	epoch = time.Unix(1_800_000_000, 0)
	shop  = Group{Service: "shop", Version: "1"}
)

func named(g Group, method string) Key { return Key{Group: g, Class: "shop/cart", Method: method} }

// bench drives a strategy by hand: it gets calls, and returns the decisions.
type bench struct {
	t    *testing.T
	s    Strategy
	now  time.Time
	last map[Key]Decision
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	require.NoError(t, cfg.Validate())
	return &bench{t: t, s: New(cfg), now: epoch}
}

// step is one interval of a minute.
func (b *bench) step(seen ...Observation) {
	b.t.Helper()
	b.now = b.now.Add(time.Minute)
	b.last = make(map[Key]Decision)
	for _, d := range b.s.Step(b.now, seen) {
		if _, twice := b.last[d.Key]; twice || d.Reason == "" || d.Mode == "" || !(d.P >= 0 && d.P <= 1) {
			b.t.Fatalf("twice %v, or incomplete: %+v", twice, d)
		}
		b.last[d.Key] = d
	}
}

func (b *bench) steps(n int, seen ...Observation) {
	b.t.Helper()
	for range n {
		b.step(seen...)
	}
}

func (b *bench) decision(key Key) Decision {
	b.t.Helper()
	require.Contains(b.t, b.last, key)
	return b.last[key]
}

// called returns a method with the given calls a minute and records at probability p, with a mean in ns and a
// spread.
func called(key Key, calls, p, mean, spread float64) Observation {
	n := calls * p
	s := WeightedSums{Records: n, Weight: calls, Sum: calls * mean, Squares: calls * mean * mean * (1 + spread*spread)}
	return Observation{Key: key, Calls: calls, Wall: s, CPU: s, Called: calls, Arrived: p}
}

// ruled is the rule of a method file's only entry.
func ruled(t *testing.T, fields string) *methodfile.Rule {
	t.Helper()
	f, warnings, err := methodfile.Parse(fmt.Appendf(nil, `{"version": 1, "methods": [{"match": "*", %s}]}`, fields))
	require.NoError(t, err)
	require.Empty(t, warnings)
	for rule := range f.All() {
		return rule
	}
	t.Fatal("no rule")
	return nil
}

func strategies(t *testing.T, test func(t *testing.T, name string)) {
	for _, name := range []string{StrategyTiers, StrategyBudget} {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

func within(t *testing.T, want, found, part float64) {
	t.Helper()
	require.LessOrEqual(t, math.Abs(found-want), part*math.Abs(want), "want %v, found %v", want, found)
}
