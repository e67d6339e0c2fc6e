package alert

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Schema numbers the form of an alert. Fields are only added.
const Schema = 1

// Kinds of alerts.
const (
	Regression   = "regression"    // a method that a new version made more expensive
	MoreCalls    = "more_calls"    // a method that its caller calls more often per call
	WholeService = "whole_service" // what all methods have in common became more expensive
	Budget       = "budget"        // what is spent is above what was planned
	Drift        = "drift"         // a method that became more expensive over weeks
)

// Alert is one thing to know of, as other programs read it.
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
	// Caller is who calls the method more often, of more calls; written as rows name
	// callers. Other alerts have none.
	Caller       string `json:"caller,omitempty"`
	BaseVersion  string `json:"base_version"`
	HeadVersion  string `json:"head_version"`
	BaseRevision string `json:"base_revision"`
	HeadRevision string `json:"head_revision"`
	Metric       string `json:"metric"`
	// Basis is what was tested: "self", "inclusive" or "standardised" time; empty
	// for a budget.
	Basis string `json:"basis"`
	// Base and Head are ns per call of what was tested; Reason says whether
	// that is the method's own time or its whole. Of a budget they are dollars a
	// day: planned and spent. Of more calls they are calls per call of the caller, of a
	// whole service 0.
	Base          float64 `json:"base"`
	Head          float64 `json:"head"`
	ChangePercent float64 `json:"change_percent"`
	// Interval holds the change in percent with 95% confidence: low, high.
	Interval [2]float64 `json:"interval"`
	// EValue is the evidence against chance; null where the rule makes none.
	EValue *float64 `json:"e_value"`
	// Records are the measured calls of the head version, or behind what is spent.
	Records int64 `json:"records"`
	// USDPerDay is what a day of the method costs in the head version, less what the same
	// calls would have cost in the base version; of a drift in the last week, less what they
	// would have cost before; or what is spent above a budget. Null without a price, and for
	// wall time. The basis is the time that is scaled to a day.
	USDPerDay      *float64 `json:"usd_per_day"`
	USDPerDayBasis string   `json:"usd_per_day_basis,omitempty"`
	// GenericPrice is set where that is by a public list price.
	GenericPrice bool `json:"generic_price,omitempty"`
	// AssumedShare is the part of the measured calls, of the head version or of the service, of which
	// nothing says how their spans were sampled: calls are at least as many.
	AssumedShare float64 `json:"assumed_share,omitempty"`
	// FirstSeen is the first row of the head version, or when a budget was first
	// found broken, or the day on which a drift began.
	FirstSeen time.Time `json:"first_seen"`
	// KnowableSince is the end of the first time bucket with evidence enough to raise it;
	// null where the rule does not say.
	KnowableSince *time.Time `json:"knowable_since"`
	// RaisedAt is when it was raised: one that comes back is raised again. A report, which
	// raises nothing, leaves it out.
	RaisedAt time.Time `json:"raised_at,omitzero"`
	Severity Severity  `json:"severity"`
	Owner    string    `json:"owner"`
	// Budget is the name of a budget; other alerts have none.
	Budget string   `json:"budget,omitempty"`
	Reason string   `json:"reason"`
	Links  []string `json:"links"`
	// Resolution says why an alert went away; only resolved ones have it.
	Resolution string `json:"resolution,omitempty"`
}

// Name is the method or the class that the alert is about; empty if it is a budget of a
// whole service.
func (a *Alert) Name() string {
	if a.Class == "" && a.Method == "" && a.Kind != Budget {
		return "whole service"
	}
	return methodspan.Function{Class: a.Class, Method: a.Method}.Full() + a.Signature
}

// About is the name with the caller that an alert is about, for people.
func (a *Alert) About() string {
	if a.Caller == "" {
		return a.Name()
	}
	return a.Name() + " called by " + a.Caller
}

// ID names the alert for ever: the same method between the same two versions has
// the same one, however often it is looked at; of more calls the same caller and
// method. A drift is no matter of versions, which are only those around the day it
// began; another one of the same method begins on another day.
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
