package decide

import (
	"time"
)

// Names of strategies, scopes of a budget, and meters of the scorecard.
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
	// Strategy is budget or tiers. The processor adds file, which uses the rates of the method file unchanged.
	Strategy string `mapstructure:"strategy"`

	// Interval is the time between two decisions. They happen half an interval after the clock's full intervals
	// (12:00:30), because SDKs send their counts at the full minute. A shorter interval sees some methods only
	// now and then.
	Interval time.Duration `mapstructure:"interval"`

	// HalfLife is the time after which a record counts half in means and spreads.
	HalfLife time.Duration `mapstructure:"half_life"`

	// MaxMethods bounds the methods that are known, all groups together.
	MaxMethods int `mapstructure:"max_methods"`

	// ForgetAfter is how long a method that is not called stays known.
	ForgetAfter time.Duration `mapstructure:"forget_after"`

	// FloorRecordsPerDay is the minimum for every method, if it has that many calls and the budget
	// suffices.
	FloorRecordsPerDay float64 `mapstructure:"floor_records_per_day"`

	// MinRate and MaxRate bound every rate; a method's own bounds in the method file take precedence.
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

// ColdStartConfig applies to methods before their first decision.
type ColdStartConfig struct {
	// Rate is served for a method until its first decision.
	Rate float64 `mapstructure:"rate"`

	// Thin also drops records above that rate. Without it they are kept, up to the limit of the
	// interval; without a limit they are always dropped.
	Thin bool `mapstructure:"thin"`
	_    struct{}
}

// OverflowConfig applies to methods beyond max_methods.
type OverflowConfig struct {
	// MaxRate bounds the rate that methods beyond max_methods share.
	MaxRate float64 `mapstructure:"max_rate"`
	_       struct{}
}

// BudgetConfig configures the strategy budget.
type BudgetConfig struct {
	// RecordsPerSecond is the number of measurements to keep.
	RecordsPerSecond float64 `mapstructure:"records_per_second"`

	// Per is service if each service has this budget, all if they share it.
	Per string `mapstructure:"per"`

	// UniformShare is the share of the budget that is spread evenly over all calls: it finds changes that the
	// learned statistics do not show.
	UniformShare float64 `mapstructure:"uniform_share"`

	// TotalShare is the share of the budget for the precision of the total of all methods, which depends on a
	// few expensive ones.
	TotalShare float64 `mapstructure:"total_share"`

	// RestShare of the budget serves all methods, in proportion to the root of their own cost.
	RestShare float64 `mapstructure:"rest_share"`
	_         struct{}
}

// ClassesConfig configures the learned classes, and their rates under the strategy tiers.
type ClassesConfig struct {
	// EntryRate, MidRate and InnerRate are the rates of the classes under the strategy tiers.
	EntryRate float64 `mapstructure:"entry_rate"`
	MidRate   float64 `mapstructure:"mid_rate"`
	InnerRate float64 `mapstructure:"inner_rate"`

	// EntryShare is the share of calls from outside from which on a method is an
	// entry.
	EntryShare float64 `mapstructure:"entry_share"`

	// InnerCallsPerSecond is the number of calls of all processes of a version from which on a method is an
	// inner one, wherever it stands.
	InnerCallsPerSecond float64 `mapstructure:"inner_calls_per_second"`

	// Hysteresis is the factor by which a method must fall below the threshold
	// of its class to leave it.
	Hysteresis float64 `mapstructure:"hysteresis"`

	// HoldIntervals is the number of intervals in a row in which a method must match another class to
	// enter it.
	HoldIntervals int `mapstructure:"hold_intervals"`
	_             struct{}
}

// BoostConfig is about the comparison of a new version with those running
// alongside it.
type BoostConfig struct {
	// Enabled keeps more records of methods while two versions run alongside each other.
	Enabled bool `mapstructure:"enabled"`

	// Factor is the factor by which a method's share of the budget grows while it is compared; under the
	// strategy tiers, by which the new version's rate does.
	Factor float64 `mapstructure:"factor"`

	// Effect is the relative change of the mean to detect: a method is compared until both sides have
	// enough records for it.
	Effect float64 `mapstructure:"effect"`

	// Deadline ends the comparison in any case.
	Deadline time.Duration `mapstructure:"deadline"`
	_        struct{}
}

// ScorecardConfig configures switching off methods that are too cheap to measure.
type ScorecardConfig struct {
	// Enabled switches off methods that are too cheap for a probe; they are not counted either.
	Enabled bool `mapstructure:"enabled"`

	// Shadow computes the scores and switches nothing off.
	Shadow bool `mapstructure:"shadow"`

	// Meter is the time that is compared: wall or cpu.
	Meter string `mapstructure:"meter"`

	Inclusive ScoreConfig `mapstructure:"inclusive"`
	Exclusive ScoreConfig `mapstructure:"exclusive"`

	// InitialBalance is the balance of a new method, in calls. At 0 it is switched off.
	InitialBalance float64 `mapstructure:"initial_balance"`

	// HotspotBalance is the balance from which a method is a hotspot.
	HotspotBalance float64 `mapstructure:"hotspot_balance"`

	// UnmanagedBalance is the balance from which a method stays on for good.
	UnmanagedBalance float64 `mapstructure:"unmanaged_balance"`

	// MinRecords are the records that are needed before a method is switched off.
	MinRecords float64 `mapstructure:"min_records"`

	// ProbationBalance is the balance of a method that is tried again.
	ProbationBalance float64 `mapstructure:"probation_balance"`

	// BackOff and MaxBackOff are the first and the longest time that a method is off; the time doubles each time.
	BackOff    time.Duration `mapstructure:"back_off"`
	MaxBackOff time.Duration `mapstructure:"max_back_off"`
	_          struct{}
}

// ScoreConfig defines how one of the two times of a call changes the balance.
type ScoreConfig struct {
	// Threshold is the time of a call at or above which the balance grows by credit, and below which it falls by debit.
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
		Budget:             BudgetConfig{RecordsPerSecond: 25, Per: PerService, UniformShare: 0.03, TotalShare: 0.15, RestShare: 0.2},
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
