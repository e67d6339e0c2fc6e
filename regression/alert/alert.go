package alert

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Schema is the version of the JSON form of an alert. Later versions only add fields.
const Schema = 1

// Kinds of alerts.
const (
	Regression   = "regression"    // a method that a new version made more expensive
	MoreCalls    = "more_calls"    // a method that its caller calls more often per call of the caller
	WholeService = "whole_service" // the change that all methods share: they became more expensive
	Budget       = "budget"        // spending is above the planned amount
	Drift        = "drift"         // a method that became more expensive over weeks
)

// Alert is one alert in the form that other programs read.
type Alert struct {
	Schema           int    `json:"schema"`
	ID               string `json:"id"`
	Kind             string `json:"kind"`
	ServiceNamespace string `json:"service_namespace"`
	Service          string `json:"service"`
	Environment      string `json:"environment"`
	Class            string `json:"class"`
	Method           string `json:"method"`
	Signature        string `json:"signature"`
	// Caller is the caller that calls the method more often, named as in rows. It is set only for MoreCalls.
	Caller       string `json:"caller,omitempty"`
	BaseVersion  string `json:"base_version"`
	HeadVersion  string `json:"head_version"`
	BaseRevision string `json:"base_revision"`
	HeadRevision string `json:"head_revision"`
	Metric       string `json:"metric"`
	// Basis is the time tested: "self", "inclusive" or "standardised"; empty for a budget.
	Basis string `json:"basis"`
	// Base and Head are ns per call of the tested time; Reason states whether that is self or inclusive time.
	// For a budget they are dollars per day: planned and spent. For MoreCalls they are calls per call of the
	// caller. For WholeService they are 0.
	Base          float64 `json:"base"`
	Head          float64 `json:"head"`
	ChangePercent float64 `json:"change_percent"`
	// Interval is the 95% confidence interval of the change in percent: low, high.
	Interval [2]float64 `json:"interval"`
	// EValue is the evidence against chance; null if the rule computes none.
	EValue *float64 `json:"e_value"`
	// Records is the number of measured calls of the head version, or behind the spending of a budget.
	Records int64 `json:"records"`
	// USDPerDay is the daily cost of the method in the head version minus the cost of the same calls in the base
	// version. For a drift it is the cost of the last week minus the cost of these calls before the change. For a
	// budget it is the spending above the plan. It is null without a price and for wall time. USDPerDayBasis is the time
	// that is scaled to a day.
	USDPerDay      *float64 `json:"usd_per_day"`
	USDPerDayBasis string   `json:"usd_per_day_basis,omitempty"`
	// GenericPrice is set if USDPerDay uses a public list price.
	GenericPrice bool `json:"generic_price,omitempty"`
	// AssumedShare is the part of the measured calls, of the head version or of the service, without a known
	// sampling probability. Their number of calls is a lower bound.
	AssumedShare float64 `json:"assumed_share,omitempty"`
	// FirstSeen is the time of the first row of the head version. For a budget it is the time at which the overrun
	// was first found, for a drift the day on which it began.
	FirstSeen time.Time `json:"first_seen"`
	// KnowableSince is the end of the first time bucket with enough evidence to raise the alert; null if the rule
	// does not provide it.
	KnowableSince *time.Time `json:"knowable_since"`
	// RaisedAt is the time at which the alert was raised. An alert that returns after its end is raised again.
	// Reports, which raise nothing, omit it.
	RaisedAt time.Time `json:"raised_at,omitzero"`
	Severity Severity  `json:"severity"`
	// Earlier are the severities at which sinks were sent it before.
	Earlier []Severity `json:"-"`
	Owner   string     `json:"owner"`
	// Budget is the name of the budget; empty for other alerts.
	Budget string   `json:"budget,omitempty"`
	Reason string   `json:"reason"`
	Links  []string `json:"links"`
	// Resolution is the reason why the alert was resolved; only resolved alerts have it.
	Resolution string `json:"resolution,omitempty"`
}

// Name returns the method or the class of the alert; empty for a budget of a whole service.
func (a *Alert) Name() string {
	if a.Class == "" && a.Method == "" && a.Kind != Budget {
		return "whole service"
	}
	return methodspan.Function{Class: a.Class, Method: a.Method}.Full() + a.Signature
}

// About returns the name with the caller, for people.
func (a *Alert) About() string {
	if a.Caller == "" {
		return a.Name()
	}
	return a.Name() + " called by " + a.Caller
}

// ID returns the permanent id of an alert. The same method between the same two versions always has the same id. For
// MoreCalls the caller is part of the id. For a drift the versions are not part of it, as they are only those around
// its first day; that day is part of it, so another drift of the same method has another id.
func ID(a *Alert) string {
	var buf []byte
	base, head := a.BaseVersion, a.HeadVersion
	if a.Kind == Drift {
		base, head = "", ""
	}
	parts := []string{
		a.Kind, a.ServiceNamespace, a.Service, a.Environment, a.Class, a.Method, base, head, a.Metric,
	}
	if a.Budget != "" {
		parts = append(parts, a.Budget)
	}
	if a.Kind == MoreCalls {
		parts = append(parts, a.Caller)
	}
	if a.Kind == Drift {
		parts = append(parts, a.FirstSeen.UTC().Format(time.DateOnly))
	}
	for _, part := range parts {
		buf = binary.AppendUvarint(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:12])
}
