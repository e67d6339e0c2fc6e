package report

import (
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/query"
)

// Report is the content of the page, whatever it is written as.
type Report struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Made      time.Time `json:"made"`
	Warehouse string    `json:"warehouse"`
	Metric    string    `json:"metric"` // of distributions, histories and trees: cpu, or wall where nothing has CPU
	Records   int64     `json:"records"`
	Instances int       `json:"instances"`

	Costs     []Cost `json:"costs"`
	CostsLeft int    `json:"costs_left_out"` // methods beyond the bound
	// Walls are the wall time of methods of services of which no CPU was measured.
	Walls     []Wall `json:"wall_times,omitempty"`
	WallsLeft int    `json:"wall_times_left_out,omitempty"`
	// Notes say of services what is not known of their calls.
	Notes []string `json:"notes,omitempty"`
	// Alerts are what regress raises, of every kind; who accepted or silenced what is
	// not known here.
	Alerts     []alert.Alert `json:"alerts"`
	AlertsLeft int           `json:"alerts_left_out"`
	Moves      []Move        `json:"moves"`
	MovesLeft  int           `json:"moves_left_out"`
	// Compared are the versions that were compared.
	Compared     []Compared `json:"compared"`
	ComparedLeft int        `json:"compared_left_out,omitempty"`
	// Untold says of services why versions of them were not compared.
	Untold     []string         `json:"not_compared,omitempty"`
	UntoldLeft int              `json:"not_compared_left_out,omitempty"` // services
	Methods    []Method         `json:"methods"`
	Trees      []Tree           `json:"trees"`
	TreesLeft  int              `json:"trees_left_out,omitempty"`
	Health     *ledger.Accounts `json:"health"` // the page has its services up to the bound

	zone *time.Location
	top  int
}

// Cost is one line of the ranking, with the 95% interval of its core hours where the
// tail of its calls was sampled well enough for one, else a warning.
type Cost struct {
	query.MethodName
	SelfCoreHours float64     `json:"self_core_hours"`
	Error         *float64    `json:"self_core_hours_se"`
	Interval      *[2]float64 `json:"self_core_hours_interval"`
	Warning       string      `json:"warning,omitempty"`
	SelfUSD       *float64    `json:"self_usd"`
	GenericPrice  bool        `json:"generic_price"` // of a public price list
	Calls         float64     `json:"calls"`
	AssumedCalls  float64     `json:"assumed_calls"` // nothing says how their spans were sampled: calls are at least as many
	Records       int64       `json:"records"`
	Uncertain     string      `json:"uncertain,omitempty"` // why it prints ~
}

// Wall is the wall time of a method's calls, with its 95% interval. Own time is without the calls
// it made, and Clipped where these took longer.
type Wall struct {
	query.MethodName
	SelfWallHours      float64     `json:"self_wall_hours"`
	Interval           *[2]float64 `json:"self_wall_hours_interval"`
	Clipped            bool        `json:"self_wall_clipped"`
	InclusiveWallHours float64     `json:"inclusive_wall_hours"`
	Calls              float64     `json:"calls"`
	AssumedCalls       float64     `json:"assumed_calls"` // as those of costs
	Records            int64       `json:"records"`
	Uncertain          string      `json:"uncertain,omitempty"`
}

// Compared is two versions of a service, and by which rule they are base and head.
type Compared struct {
	query.Service
	BaseVersion string         `json:"base_version"`
	HeadVersion string         `json:"head_version"`
	ChosenBy    pairs.BaseRule `json:"chosen_by"`
}

// Move is a method that two versions differ in.
type Move struct {
	query.MethodName
	BaseVersion   string     `json:"base_version"`
	HeadVersion   string     `json:"head_version"`
	Metric        string     `json:"metric"`
	State         string     `json:"state"`
	ChangePercent float64    `json:"change_percent"`
	Interval      [2]float64 `json:"interval"`
	// Measured is what the processes measured, Common the part of it that was taken off
	// and why; by evidence only.
	Measured     *evidence.Part `json:"measured_change"`
	Common       *evidence.Part `json:"common_part"`
	CommonReason string         `json:"common_reason"`
	BaseRecords  int64          `json:"base_records"`
	HeadRecords  int64          `json:"head_records"`
	Proven       bool           `json:"proven"` // raised by the verdict; all others print ~
}

// Method is one method looked at closely.
type Method struct {
	query.MethodName
	Spreads []Spread `json:"distribution"` // one per version, the newest last
	Course  []Course `json:"history"`      // one per version, by first appearance
	Records int64    `json:"records"`
}

// Spread is how the times of single calls of one version are spread.
type Spread struct {
	Version string            `json:"version"`
	Calls   float64           `json:"calls"`
	Bins    map[int64]float64 `json:"bins"` // share of the calls by quarter of an octave, see query.BinStart
}

// Course is the mean time of a call of one version over time.
type Course struct {
	Version string    `json:"version"`
	Points  []Instant `json:"points"`
}

// Instant is a mean with its 95% interval, null where too little is known.
type Instant struct {
	At       time.Time   `json:"at"`
	NS       float64     `json:"ns_per_call"`
	Interval *[2]float64 `json:"interval"`
	Records  int64       `json:"records"`
}

// Tree is who calls whom in a service, by cost.
type Tree struct {
	query.Service
	TotalNS float64 `json:"total_ns"`
	Roots   []*Node `json:"roots"`
}

// Node is a method below one chain of callers. NS is its whole time there.
type Node struct {
	Name     string  `json:"name"`
	NS       float64 `json:"ns"`
	Children []*Node `json:"children,omitempty"`
}
