package decide

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfig_DefaultsValid(t *testing.T) {
	strategies(t, func(t *testing.T, name string) {
		cfg := DefaultConfig()
		cfg.Strategy = name
		require.NoError(t, cfg.Validate())
	})
}

// Every fault is reported with its key, the value found and the remedy.
func TestConfig_Invalid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"strategy": {func(c *Config) { c.Strategy = "buget" },
			"`strategy` must be one of [\"budget\" \"tiers\"], found \"buget\": did you mean \"budget\"?"},
		"interval": {func(c *Config) { c.Interval = 0 }, "`interval` must be at least 1s, found 0s"},
		"rate above 1": {func(c *Config) { c.MaxRate = 5 },
			"`max_rate` must be between 1e-09 and 1, found 5: it is the share of calls that are kept"},
		"rate that is none": {func(c *Config) { c.ColdStart.Rate = math.NaN() },
			"`cold_start::rate` must be between 1e-09 and 1, found NaN: it is the share of calls that are kept"},
		"rates reversed": {func(c *Config) { c.MinRate, c.MaxRate = 0.5, 0.1 },
			"`min_rate` must be at most `max_rate`, found 0.5 above 0.1: exchange them"},
		"no budget": {func(c *Config) { c.Budget.RecordsPerSecond = 0 },
			"`budget::records_per_second` must be a positive number, found 0"},
		"floor above the budget": {func(c *Config) { c.Budget.RecordsPerSecond = 0.001 },
			"`floor_records_per_day` must fit into the budget, found 200 for each method above 86.4 for all of them " +
				"(`budget::records_per_second` 0.001): lower the floor or raise the budget"},
		"uniform share": {func(c *Config) { c.Budget.UniformShare = 10 },
			"`budget::uniform_share`, `budget::total_share` and `budget::rest_share` must be parts of the budget, not negative and together at most 1, found 10, 0.15 and 0.2"},
		"per": {func(c *Config) { c.Budget.Per = "method" },
			"`budget::per` must be one of [\"service\" \"all\"], found \"method\": known are \"all\", \"service\""},
		"budget of tiers": {func(c *Config) { c.Strategy, c.Budget.RecordsPerSecond = StrategyTiers, 5 },
			"`budget` has an effect only with `strategy: budget`, found it with `strategy: tiers`: remove one of them"},
		"rates of classes in a budget": {func(c *Config) { c.Classes.MidRate = 0.1 },
			"`classes::entry_rate`, `classes::mid_rate` and `classes::inner_rate` have an effect only with `strategy: tiers`, " +
				"found them with `strategy: budget`: remove them, the budget decides the rates"},
		"classes reversed": {func(c *Config) { c.Strategy, c.Classes.InnerRate = StrategyTiers, 0.5 },
			"`classes` must hold inner_rate <= mid_rate <= entry_rate, found 0.5, 0.05, 1: what is called more often is to be sampled less"},
		"hysteresis": {func(c *Config) { c.Classes.Hysteresis = 0.5 },
			"`classes::hysteresis` must be between 1 and 1000, found 0.5: it is a factor, and 1 is none"},
		"boost": {func(c *Config) { c.Boost.Factor = 0 },
			"`boost::factor` must be between 1 and 1000, found 0: without a boost set `boost::enabled` to false"},
		"effect": {func(c *Config) { c.Boost.Effect = 0 },
			"`boost::effect` must be above 0 and at most 10, found 0: a change by a tenth is 0.1"},
		"thresholds reversed": {func(c *Config) { c.Scorecard.Exclusive.Threshold = time.Millisecond },
			"`scorecard::exclusive::threshold` must be at most `scorecard::inclusive::threshold`, found 1ms above 10µs: " +
				"exclusive time is a part of inclusive time, exchange them"},
		"balances reversed": {func(c *Config) { c.Scorecard.HotspotBalance = 1e9 },
			"`scorecard` must hold probation_balance <= initial_balance < hotspot_balance < unmanaged_balance, " +
				"found 10000, 100000, 1e+09, 1e+07: put them in this order"},
		"back-off": {func(c *Config) { c.Scorecard.MaxBackOff = time.Minute },
			"`scorecard::max_back_off` must be at least `scorecard::back_off`, found 1m0s below 10m0s: exchange them"},
		"no places": {func(c *Config) { c.MaxMethods = 0 }, "`max_methods` must be between 1 and 1000000, found 0"},
		"all at once": {func(c *Config) { c.MaxMethods, c.Budget.UniformShare = -1, -1 },
			"`max_methods` must be between 1 and 1000000, found -1\n`budget::uniform_share`, `budget::total_share` and `budget::rest_share` must be parts of the budget, not negative and together at most 1, found -1, 0.15 and 0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			c.change(&cfg)
			assert.EqualError(t, cfg.Validate(), c.want)
		})
	}
}
