package adaptivesampler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Estimates stay unbiased while rates change between steps, both with a script and with the real strategies, which
// decide from the same calls.
func TestThinning_UnbiasedUnderChangingRates(t *testing.T) {
	origins := map[string]add{
		"ours":            ours(0.5, plain),
		"ours, no state":  ours(0.5, func(sampling.Threshold, sampling.Randomness) string { return "" }),
		"other SDK":       consistent(0.6, false),
		"other SDK, none": stock(0.8),
	}
	for i, name := range slices.Sorted(maps.Keys(origins)) {
		for _, strategy := range []string{"script", decide.StrategyTiers, decide.StrategyBudget} {
			t.Run(fmt.Sprint(name, "/", strategy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config := adaptive()
					config.Rates = nil
					script := &scripted{unknown: 0.3}
					var by decide.Strategy = script
					if strategy != "script" {
						config.Strategy = strategy
						config.ColdStart.Rate = 0.3
						config.MinRate = 0.05
						if strategy == decide.StrategyBudget {
							config.Budget.RecordsPerSecond = 2
						}
						by = strategyOf(config)
					}
					r := startWith(t, config, uint64(500+i), by, componenttest.NewNopHost())
					total := newBatch("")
					truth, calls := 0.0, 0
					random := rand.New(rand.NewPCG(uint64(i), 7))
					for _, rate := range []float64{0.3, 0.05, 0.9, 0.2, 0.2, 1, 0.1, 0.5} {
						const each = 4000
						sent, cost := origin{name, each, origins[name]}.send(random.Uint64())
						truth += cost
						calls += each
						if name == "ours" {
							for _, rs := range sent.ResourceSpans().All() {
								counts(batch{sent, rs.ScopeSpans().At(0).Spans()}, "shop/cart.(*Cart).Total", each)
							}
						}
						for _, span := range spansOf(r.send(sent)) {
							if text(span, methodspan.AttrKind) == methodspan.KindCall {
								span.MoveTo(total.spans.AppendEmpty())
							}
						}
						script.say("Total", rate)
						turn(t)
					}
					checkUnbiased(t, spansOf(total.Traces), 1, truth, calls)
				})
			})
		}
	}
}

// The records kept of a sender above its share estimate all its calls without bias, even while another sender floods
// the collector.
func TestThinning_UnbiasedForShares(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	for name, add := range map[string]add{"ours": ours(0.5, plain), "other SDK": consistent(0.6, false)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				halfPast()
				config := sharing()
				config.Budget.RecordsPerSecond, config.Limit.TotalRecordsPerSecond = 1000, 100
				r := start(t, config, 5)
				total := newBatch("")
				truth := 0.0
				const each, times = 120, 120
				random := rand.New(rand.NewPCG(7, 7))
				for second := range times {
					r.sendFrom(hostOfAttacker, invented(random, second))
					sent, cost := origin{name, each, add}.send(random.Uint64())
					truth += cost
					for _, span := range measurementsOf(r.sendFrom(hostOfVictim, sent)) {
						span.MoveTo(total.spans.AppendEmpty())
					}
					time.Sleep(time.Second)
					synctest.Wait()
				}
				assert.Less(t, total.spans.Len(), times*each*2/5, "it was cut")
				assert.Greater(t, total.spans.Len(), times*100/3*4/5, "to the third that is its share")
				checkUnbiased(t, spansOf(total.Traces), 1, truth, times*each)
			})
		})
	}
}
