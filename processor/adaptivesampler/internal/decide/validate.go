package decide

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
)

const (
	maxMethodsMax = 1_000_000
	secondsPerDay = 24 * 60 * 60
)

// faults collects faults by key.
type faults []error

func (f *faults) addf(format string, a ...any) { *f = append(*f, fmt.Errorf(format, a...)) }

func (f *faults) rate(key string, x float64) {
	if !(x >= methodfile.MinRate && x <= 1) {
		f.addf("`%s` must be between %v and 1, found %v: it is the share of calls that are kept", key, methodfile.MinRate, x)
	}
}

func (f *faults) positive(key string, x float64) {
	if !(x > 0 && x <= 1e18) {
		f.addf("`%s` must be a positive number, found %v", key, x)
	}
}

func (f *faults) above(key string, x, low time.Duration) {
	if x < low {
		f.addf("`%s` must be at least %v, found %v", key, low, x)
	}
}

func (f *faults) oneOf(key, word string, words ...string) {
	if !slices.Contains(words, word) {
		f.addf("`%s` must be one of %q, found %s: %s", key, words, configfile.Quote(word), configfile.DidYouMean(word, words))
	}
}

// Validate reports all faults at once.
func (c *Config) Validate() error {
	var f faults
	f.oneOf("strategy", c.Strategy, StrategyBudget, StrategyTiers)
	f.above("interval", c.Interval, time.Second)
	f.above("half_life", c.HalfLife, c.Interval)
	f.above("forget_after", c.ForgetAfter, c.Interval)
	if c.MaxMethods < 1 || c.MaxMethods > maxMethodsMax {
		f.addf("`max_methods` must be between 1 and %d, found %d", maxMethodsMax, c.MaxMethods)
	}
	f.rate("cold_start::rate", c.ColdStart.Rate)
	f.rate("overflow::max_rate", c.Overflow.MaxRate)
	c.bounds(&f)
	c.Budget.validate(&f)
	c.Classes.validate(&f)
	c.Boost.validate(&f)
	c.Scorecard.validate(&f)
	c.effective(&f)
	return errors.Join(f...)
}

// bounds checks what holds for the rates of both strategies.
func (c *Config) bounds(f *faults) {
	f.rate("min_rate", c.MinRate)
	f.rate("max_rate", c.MaxRate)
	if c.MinRate > c.MaxRate {
		f.addf("`min_rate` must be at most `max_rate`, found %v above %v: exchange them", c.MinRate, c.MaxRate)
	}
	if !(c.FloorRecordsPerDay >= 0 && c.FloorRecordsPerDay <= 1e18) {
		f.addf("`floor_records_per_day` must be a number that is not negative, found %v", c.FloorRecordsPerDay)
	}
	day := c.Budget.RecordsPerSecond * secondsPerDay
	if c.Strategy == StrategyBudget && day > 0 && c.FloorRecordsPerDay > day {
		f.addf("`floor_records_per_day` must fit into the budget, found %v for each method above %v for all of them "+
			"(`budget::records_per_second` %v): lower the floor or raise the budget", c.FloorRecordsPerDay, day, c.Budget.RecordsPerSecond)
	}
}

// effective refuses options that are set without an effect.
func (c *Config) effective(f *faults) {
	defaults := DefaultConfig()
	if c.Strategy == StrategyTiers && c.Budget != defaults.Budget {
		f.addf("`budget` has an effect only with `strategy: budget`, found it with `strategy: tiers`: remove one of them")
	}
	rates := func(c *ClassesConfig) [3]float64 { return [3]float64{c.EntryRate, c.MidRate, c.InnerRate} }
	if c.Strategy == StrategyBudget && rates(&c.Classes) != rates(&defaults.Classes) {
		f.addf("`classes::entry_rate`, `classes::mid_rate` and `classes::inner_rate` have an effect only with `strategy: tiers`, " +
			"found them with `strategy: budget`: remove them, the budget decides the rates")
	}
}

func (c *BudgetConfig) validate(f *faults) {
	f.positive("budget::records_per_second", c.RecordsPerSecond)
	f.oneOf("budget::per", c.Per, PerService, PerAll)
	if sum := c.UniformShare + c.TotalShare + c.RestShare; !(min(c.UniformShare, c.TotalShare, c.RestShare) >= 0 && sum <= 1) {
		f.addf("`budget::uniform_share`, `budget::total_share` and `budget::rest_share` must be parts of the budget, not negative and together at most 1, found %v, %v and %v", c.UniformShare, c.TotalShare, c.RestShare)
	}
}

func (c *ClassesConfig) validate(f *faults) {
	f.rate("classes::entry_rate", c.EntryRate)
	f.rate("classes::mid_rate", c.MidRate)
	f.rate("classes::inner_rate", c.InnerRate)
	if c.InnerRate > c.MidRate || c.MidRate > c.EntryRate {
		f.addf("`classes` must hold inner_rate <= mid_rate <= entry_rate, found %v, %v, %v: what is called more often is to be sampled less",
			c.InnerRate, c.MidRate, c.EntryRate)
	}
	if !(c.EntryShare > 0 && c.EntryShare <= 1) {
		f.addf("`classes::entry_share` must be above 0 and at most 1, found %v", c.EntryShare)
	}
	f.positive("classes::inner_calls_per_second", c.InnerCallsPerSecond)
	if !(c.Hysteresis >= 1 && c.Hysteresis <= 1000) {
		f.addf("`classes::hysteresis` must be between 1 and 1000, found %v: it is a factor, and 1 is none", c.Hysteresis)
	}
	if c.HoldIntervals < 1 || c.HoldIntervals > 1000 {
		f.addf("`classes::hold_intervals` must be between 1 and 1000, found %d", c.HoldIntervals)
	}
}

func (c *BoostConfig) validate(f *faults) {
	if !(c.Factor >= 1 && c.Factor <= 1000) {
		f.addf("`boost::factor` must be between 1 and 1000, found %v: without a boost set `boost::enabled` to false", c.Factor)
	}
	if !(c.Effect > 0 && c.Effect <= 10) {
		f.addf("`boost::effect` must be above 0 and at most 10, found %v: a change by a tenth is 0.1", c.Effect)
	}
	f.above("boost::deadline", c.Deadline, time.Minute)
}

func (c *ScorecardConfig) validate(f *faults) {
	if c.Shadow && !c.Enabled {
		f.addf("`scorecard::shadow` has an effect only with `scorecard::enabled: true`, found it alone: enable the scorecard or remove it")
	}
	f.oneOf("scorecard::meter", c.Meter, MeterWall, MeterCPU)
	c.Inclusive.validate(f, "scorecard::inclusive")
	c.Exclusive.validate(f, "scorecard::exclusive")
	if c.Exclusive.Threshold > c.Inclusive.Threshold {
		f.addf("`scorecard::exclusive::threshold` must be at most `scorecard::inclusive::threshold`, found %v above %v: "+
			"exclusive time is a part of inclusive time, exchange them", c.Exclusive.Threshold, c.Inclusive.Threshold)
	}
	f.positive("scorecard::initial_balance", c.InitialBalance)
	f.positive("scorecard::probation_balance", c.ProbationBalance)
	f.positive("scorecard::min_records", c.MinRecords)
	if !(c.ProbationBalance <= c.InitialBalance && c.InitialBalance < c.HotspotBalance && c.HotspotBalance < c.UnmanagedBalance && c.UnmanagedBalance <= 1e18) {
		f.addf("`scorecard` must hold probation_balance <= initial_balance < hotspot_balance < unmanaged_balance, found %v, %v, %v, %v: put them in this order",
			c.ProbationBalance, c.InitialBalance, c.HotspotBalance, c.UnmanagedBalance)
	}
	f.above("scorecard::back_off", c.BackOff, time.Second)
	if c.MaxBackOff < c.BackOff {
		f.addf("`scorecard::max_back_off` must be at least `scorecard::back_off`, found %v below %v: exchange them", c.MaxBackOff, c.BackOff)
	}
}

func (c *ScoreConfig) validate(f *faults, key string) {
	f.above(key+"::threshold", c.Threshold, time.Nanosecond)
	f.positive(key+"::credit", c.Credit)
	f.positive(key+"::debit", c.Debit)
}
