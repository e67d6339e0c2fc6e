package pairs

import (
	"context"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

// Rule finds the methods that the newer deployment of a pair made more expensive.
type Rule interface {
	// Name is the value of --method.
	Name() string
	// Default returns the limits that apply if none are chosen.
	Default() Limits
	// Least returns the lowest limits that can be chosen.
	Least() Limits
	// Compare compares the deployments of each pair, except the pairs that it returns as skips.
	Compare(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options) ([]*Comparison, []Skip, error)
}

// Limits are the minimum change and the minimum number of records of an alert.
type Limits struct {
	ThresholdPercent float64 // the change must exceed it
	MinRecords       int64   // in each version
	// MinSharePercent is the minimum cost of the change, in percent of the service's cost. ThresholdRule ignores it.
	MinSharePercent float64
}

// EvidenceRule decides by e-values, see docs/background/statistics.md.
type EvidenceRule struct{}

// Name returns "evidence".
func (EvidenceRule) Name() string { return "evidence" }

// Default returns 2%, 30 calls and 0.1% of the service's cost.
func (EvidenceRule) Default() Limits {
	o := evidence.Defaults()
	return Limits{100 * o.LeastChange, int64(o.Records), 0.1}
}

// Least returns the limits for which the rate of false alarms was measured: the change and the records of Default, and
// any share.
func (r EvidenceRule) Least() Limits {
	l := r.Default()
	l.MinSharePercent = 0
	return l
}

// ThresholdRule decides by a percentage and an interval.
type ThresholdRule struct{}

// Name returns "threshold".
func (ThresholdRule) Name() string { return "threshold" }

// Default returns 10% and 100 calls.
func (ThresholdRule) Default() Limits { return Limits{ThresholdPercent: 10, MinRecords: 100} }

// Least returns 0% and 1 call.
func (ThresholdRule) Least() Limits { return Limits{MinRecords: 1} }
