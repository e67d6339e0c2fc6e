//go:build !race

package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// killed is a strategy that is replaced after each step by a new one with its restored state.
type killed struct {
	decide.Strategy
	t     *testing.T
	cfg   decide.Config
	rules map[decide.Key]*methodfile.Rule
}

func (k *killed) Step(now time.Time, seen []decide.Observation) []decide.Decision {
	decisions := k.Strategy.Step(now, seen)
	next := decide.New(k.cfg)
	require.NoError(k.t, next.Restore(k.Strategy.Snapshot()))
	next.Rules(func(key decide.Key) *methodfile.Rule { return k.rules[key] })
	k.Strategy = next
	return decisions
}

// A restart changes no rate: a strategy that is killed after every step decides the
// same as one that lives through it all, step by step and to the last bit.
func TestRestart_KeepsRates(t *testing.T) {
	for _, name := range []string{decide.StrategyTiers, decide.StrategyBudget} {
		for _, per := range []string{decide.PerService, decide.PerAll} {
			t.Run(name+" per "+per, func(t *testing.T) {
				cfg, _ := budgetOf(60)
				cfg.Strategy, cfg.Scorecard.Enabled, cfg.Budget.Per = name, true, per
				if name == decide.StrategyTiers {
					cfg.Budget = decide.DefaultConfig().Budget
				}
				k := &killed{Strategy: decide.New(cfg), t: t, cfg: cfg, rules: make(map[decide.Key]*methodfile.Rule)}
				world := func(s Stepper) *World {
					methods := withEntryShares(Population(seeds[0], 60, decide.Group{Service: "shop", Version: "1"}))
					methods[3].Rule = &methodfile.Rule{Mode: methodfile.ModeOff, Max: 1}
					for i, m := range methods {
						k.rules[m.Key] = m.Rule
						if i%7 == 0 {
							m.become(1e3) // the scorecard switches it off
						}
					}
					return NewWorld(methods, s, seeds[0])
				}
				lives, dies := world(decide.New(cfg)), world(k)
				for minute := range 3 * 60 {
					load := steady
					if minute >= 60 && minute < 64 || minute >= 120 { // shorter than a class is held, and longer
						load = times(100)
					}
					lives.Pass(load)
					dies.Pass(load)
					require.Equal(t, lives.rates, dies.rates, minute)
					for _, m := range lives.Methods {
						a, b := lives.Decision(m), dies.Decision(m)
						require.Equal(t, []any{a.Mode, a.Class, a.Score, a.Reason, a.CallsPerSecond}, []any{b.Mode, b.Class, b.Score, b.Reason, b.CallsPerSecond}, "minute %d, %s", minute, m.Key.Method)
					}
				}
			})
		}
	}
}
