package decide

import (
	"time"
)

// Names of strategies, of budgets' reach and of what the scorecard meters.
const (
	StrategyTiers  = "tiers"
	StrategyBudget = "budget"

	PerService = "service"
	PerAll     = "all"

	MeterWall = "wall"
	MeterCPU  = "cpu"
)

// Config is the configuration of strategies. A processor's configuration embeds
// it with `mapstructure:",squash"`.
type Config struct {
	// Strategy is budget or tiers.
	Strategy string `mapstructure:"strategy"`

	// Interval is the time between two decisions. SDKs send their counts once a
	// minute; a shorter interval sees some methods only now and then.
	Interval time.Duration `mapstructure:"interval"`

	// HalfLife is the time after which a record counts half in means and spreads.
	HalfLife time.Duration `mapstructure:"half_life"`

	// MaxMethods bounds the methods that are known, all groups together.
	MaxMethods int `mapstructure:"max_methods"`

	// ForgetAfter is how long a method that is not called stays known.
	ForgetAfter time.Duration `mapstructure:"forget_after"`

	// FloorRecordsPerDay is what every method gets at least, as far as it is
	// called that often and the budget reaches.
	FloorRecordsPerDay float64 `mapstructure:"floor_records_per_day"`

	// MinRate and MaxRate bound every rate; a method's own bounds in the method
	// file count before them.
	MinRate float64 `mapstructure:"min_rate"`
	MaxRate float64 `mapstructure:"max_rate"`

	ColdStart ColdStartConfig `mapstructure:"cold_start"`
	Overflow  OverflowConfig  `mapstructure:"overflow"`
	Budget    BudgetConfig    `mapstructure:"budget"`
	Classes   ClassesConfig   `mapstructure:"classes"`
	Boost     BoostConfig     `mapstructure:"boost"`
	Scorecard ScorecardConfig `mapstructure:"scorecard"`

	_ struct{}
}

// ColdStartConfig is about methods never seen.
type ColdStartConfig struct {
	// Rate is served for them until the first decision.
	Rate float64 `mapstructure:"rate"`

	// Thin also thins what arrives above that rate. Without it, that is kept as far as
	// the limit of the interval allows.
	Thin bool `mapstructure:"thin"`
	_    struct{}
}

// OverflowConfig is about methods beyond max_methods.
type OverflowConfig struct {
	// MaxRate bounds the rate they share.
	MaxRate float64 `mapstructure:"max_rate"`
	_       struct{}
}

// BudgetConfig is about the strategy budget.
type BudgetConfig struct {
	// RecordsPerSecond is how many measurements may be kept.
	RecordsPerSecond float64 `mapstructure:"records_per_second"`

	// Per is whether each service has this budget or all share it.
	Per string `mapstructure:"per"`

	// UniformShare of the budget is spread over all calls alike: it finds what the
	// statistics learned so far do not show.
	UniformShare float64 `mapstructure:"uniform_share"`

	// TotalShare of the budget is spread so that the total of all methods is known
	// best, which depends on a few expensive ones.
	TotalShare float64 `mapstructure:"total_share"`

	// Enough is the relative standard error of a method's day from which on it gets
	// no more for its own sake while another one knows less.
	Enough float64 `mapstructure:"enough"`
	_      struct{}
}

// ClassesConfig is about the classes that are learned, and about the rates they
// have under the strategy tiers.
type ClassesConfig struct {
	EntryRate float64 `mapstructure:"entry_rate"`
	MidRate   float64 `mapstructure:"mid_rate"`
	InnerRate float64 `mapstructure:"inner_rate"`

	// EntryShare is the share of calls from outside from which on a method is an
	// entry.
	EntryShare float64 `mapstructure:"entry_share"`

	// InnerCallsPerSecond, of all processes of a version together, make a method
	// an inner one, wherever it stands.
	InnerCallsPerSecond float64 `mapstructure:"inner_calls_per_second"`

	// Hysteresis is the factor by which a method must fall below the threshold
	// of its class to leave it.
	Hysteresis float64 `mapstructure:"hysteresis"`

	// HoldIntervals is for how many intervals in a row a method must match another
	// class to become it.
	HoldIntervals int `mapstructure:"hold_intervals"`
	_             struct{}
}

// BoostConfig is about the comparison of a new version with those running
// alongside it.
type BoostConfig struct {
	Enabled bool `mapstructure:"enabled"`

	// Factor by which a method's share of the budget grows while it is compared;
	// under the strategy tiers, by which the new version's rate does.
	Factor float64 `mapstructure:"factor"`

	// Effect is the relative change of the mean that is to be seen: a method is
	// compared until both sides have the records for it.
	Effect float64 `mapstructure:"effect"`

	// Deadline ends the comparison, seen or not.
	Deadline time.Duration `mapstructure:"deadline"`
	_        struct{}
}

// ScorecardConfig is about switching off methods too cheap to be measured.
type ScorecardConfig struct {
	Enabled bool `mapstructure:"enabled"`

	// Shadow keeps the accounts and switches nothing off.
	Shadow bool `mapstructure:"shadow"`

	// Meter is the time that is compared: wall or cpu.
	Meter string `mapstructure:"meter"`

	Inclusive ScoreConfig `mapstructure:"inclusive"`
	Exclusive ScoreConfig `mapstructure:"exclusive"`

	// InitialBalance, in calls, is what a new method starts with. At 0 it is
	// switched off.
	InitialBalance float64 `mapstructure:"initial_balance"`

	// HotspotBalance and above is a hotspot. From UnmanagedBalance on the method
	// stays on for good.
	HotspotBalance   float64 `mapstructure:"hotspot_balance"`
	UnmanagedBalance float64 `mapstructure:"unmanaged_balance"`

	// MinRecords are needed before a method is switched off.
	MinRecords float64 `mapstructure:"min_records"`

	// ProbationBalance is what a method starts with that is tried again.
	ProbationBalance float64 `mapstructure:"probation_balance"`

	// BackOff is how long a method is off the first time. It doubles each time,
	// up to MaxBackOff.
	BackOff    time.Duration `mapstructure:"back_off"`
	MaxBackOff time.Duration `mapstructure:"max_back_off"`
	_          struct{}
}

// ScoreConfig is how one of the two times of a call changes the balance: by
// Credit at or above the threshold, by -Debit below it.
type ScoreConfig struct {
	Threshold time.Duration `mapstructure:"threshold"`
	Credit    float64       `mapstructure:"credit"`
	Debit     float64       `mapstructure:"debit"`
	_         struct{}
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config {
	return Config{
		Strategy:           StrategyBudget,
		Interval:           time.Minute,
		HalfLife:           72 * time.Hour,
		MaxMethods:         50_000,
		ForgetAfter:        7 * 24 * time.Hour,
		FloorRecordsPerDay: 200,
		MinRate:            1e-5,
		MaxRate:            1,
		ColdStart:          ColdStartConfig{Rate: 0.01},
		Overflow:           OverflowConfig{MaxRate: 0.01},
		Budget:             BudgetConfig{RecordsPerSecond: 25, Per: PerService, UniformShare: 0.1, TotalShare: 0.2, Enough: 0.02},
		Classes: ClassesConfig{
			EntryRate: 1, MidRate: 0.05, InnerRate: 0.001,
			EntryShare: 0.5, InnerCallsPerSecond: 1000, Hysteresis: 2, HoldIntervals: 5,
		},
		Boost: BoostConfig{Enabled: true, Factor: 4, Effect: 0.1, Deadline: 2 * time.Hour},
		Scorecard: ScorecardConfig{
			Meter:          MeterWall,
			Inclusive:      ScoreConfig{Threshold: 10 * time.Microsecond, Credit: 1, Debit: 1},
			Exclusive:      ScoreConfig{Threshold: 2 * time.Microsecond, Credit: 1, Debit: 2},
			InitialBalance: 1e5, HotspotBalance: 1e6, UnmanagedBalance: 1e7,
			MinRecords: 100, ProbationBalance: 1e4, BackOff: 10 * time.Minute, MaxBackOff: 24 * time.Hour,
		},
	}
}

// New returns the strategy of a valid configuration.
func New(cfg Config) Strategy {
	if cfg.Strategy == StrategyTiers {
		return &tiers{newMethodStore(cfg)}
	}
	return &budget{newMethodStore(cfg)}
}
