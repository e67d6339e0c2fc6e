package report

import (
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/query"
)

// Report is the content of the page, independent of the output format.
type Report struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Made      time.Time `json:"made"`
	Warehouse string    `json:"warehouse"`
	Metric    string    `json:"metric"` // of distributions, histories and trees: cpu, or wall if no method has CPU
	Records   int64     `json:"records"`
	Instances int       `json:"instances"`

	Costs     []Cost `json:"costs"`
	CostsLeft int    `json:"costs_left_out"` // number of methods beyond the limit
	// Walls are the wall times of methods of services without measured CPU.
	Walls     []Wall `json:"wall_times,omitempty"`
	WallsLeft int    `json:"wall_times_left_out,omitempty"`
	// Notes name the services whose calls are only known as a lower bound.
	Notes []string `json:"notes,omitempty"`
	// Alerts are all alerts that regress raises. Accepted and silenced ones are included, because their state
	// is not known here.
	Alerts      []alert.Alert `json:"alerts"`
	AlertsLeft  int           `json:"alerts_left_out"`
	Changes     []Change      `json:"moves"`
	ChangesLeft int           `json:"moves_left_out"`
	// Compared lists the pairs of versions that were compared.
	Compared     []Compared `json:"compared"`
	ComparedLeft int        `json:"compared_left_out,omitempty"`
	// NotCompared lists the services whose versions were not compared, with the reason.
	NotCompared     []string         `json:"not_compared,omitempty"`
	NotComparedLeft int              `json:"not_compared_left_out,omitempty"` // number of services
	Methods         []Method         `json:"methods"`
	Trees           []Tree           `json:"trees"`
	TreesLeft       int              `json:"trees_left_out,omitempty"`
	Health          *ledger.Accounts `json:"health"` // the page shows its services up to the limit

	zone *time.Location
	top  int
}

// Cost is a line of the ranking. It has the 95% interval of its core hours if the tail of its calls was sampled
// well enough, else a warning.
type Cost struct {
	query.MethodName
	SelfCoreHours float64     `json:"self_core_hours"`
	Error         *float64    `json:"self_core_hours_se"`
	Interval      *[2]float64 `json:"self_core_hours_interval"`
	Warning       string      `json:"warning,omitempty"`
	SelfUSD       *float64    `json:"self_usd"`
	GenericPrice  bool        `json:"generic_price"` // priced by a public price list
	Calls         float64     `json:"calls"`
	CallsSE       float64     `json:"calls_se,omitempty"` // if Calls is an estimate
	AssumedCalls  float64     `json:"assumed_calls"`      // calls with unknown sampling probability; if > 0, Calls is a lower bound
	Records       int64       `json:"records"`
	Uncertain     string      `json:"uncertain,omitempty"` // the reason for the ~ in front of the cost
}

// Wall is the wall time of a method's calls, with its 95% interval. Self time excludes the calls that the method
// made. Clipped is set if these took longer than the method itself.
type Wall struct {
	query.MethodName
	SelfWallHours      float64     `json:"self_wall_hours"`
	Interval           *[2]float64 `json:"self_wall_hours_interval"`
	Clipped            bool        `json:"self_wall_clipped"`
	InclusiveWallHours float64     `json:"inclusive_wall_hours"`
	Calls              float64     `json:"calls"`
	CallsSE            float64     `json:"calls_se,omitempty"` // see Cost.CallsSE
	AssumedCalls       float64     `json:"assumed_calls"`      // see Cost.AssumedCalls
	Records            int64       `json:"records"`
	Uncertain          string      `json:"uncertain,omitempty"`
}

// Compared is a pair of versions of a service, and the rule that chose the base.
type Compared struct {
	query.Service
	BaseVersion string         `json:"base_version"`
	HeadVersion string         `json:"head_version"`
	ChosenBy    pairs.BaseRule `json:"chosen_by"`
}

// Change is the verdict on a method, with the fields that corehour regress prints.
type Change struct {
	pairs.Row
	Proven bool `json:"proven"` // the verdict is a regression; other changes print ~
}

// Method contains the details of one method.
type Method struct {
	query.MethodName
	Distributions []Distribution `json:"distribution"` // one per version, the newest last
	History       []History      `json:"history"`      // one per version, by first appearance
	Records       int64          `json:"records"`
}

// Distribution is the distribution of the times of single calls of one version.
type Distribution struct {
	Version string            `json:"version"`
	Calls   float64           `json:"calls"`
	Bins    map[int64]float64 `json:"bins"` // share of the calls by bins of a quarter octave, see query.BinStart
}

// History is the mean time of a call of one version by time.
type History struct {
	Version string  `json:"version"`
	Points  []Point `json:"points"`
}

// Point is a mean with its 95% interval; the interval is null without enough data.
type Point struct {
	At       time.Time   `json:"at"`
	NS       float64     `json:"ns_per_call"`
	Interval *[2]float64 `json:"interval"`
	Records  int64       `json:"records"`
}

// Tree is the call tree of a service, weighted by cost.
type Tree struct {
	query.Service
	TotalNS float64 `json:"total_ns"`
	Roots   []*Node `json:"roots"`
}

// Node is a method below one chain of callers. NS is its inclusive time there.
type Node struct {
	Name     string  `json:"name"`
	NS       float64 `json:"ns"`
	Children []*Node `json:"children,omitempty"`
}
