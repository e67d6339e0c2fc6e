package pairs

import (
	"context"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

// Rule decides what the newer deployment of a pair made more expensive.
type Rule interface {
	// Name is that of --method.
	Name() string
	// Default limits are those that nobody has chosen.
	Default() Limits
	// Least are the lowest limits that can be chosen.
	Least() Limits
	// Compare compares the deployments of each pair, but for those that it skips.
	Compare(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options) ([]*Comparison, []Skip, error)
}

// Limits are what a change must be to be raised.
type Limits struct {
	ThresholdPercent float64 // a change must be above it
	MinRecords       int64   // on both sides
}

// EvidenceRule decides by e-values, see docs/background/statistics.md.
type EvidenceRule struct{}

// Name is "evidence".
func (EvidenceRule) Name() string { return "evidence" }

// Default are 2% and 30 calls.
func (EvidenceRule) Default() Limits {
	o := evidence.Defaults()
	return Limits{100 * o.LeastChange, int64(o.Records)}
}

// Least are those whose false alarms were counted.
func (r EvidenceRule) Least() Limits { return r.Default() }

// ThresholdRule decides by a percentage and an interval.
type ThresholdRule struct{}

// Name is "threshold".
func (ThresholdRule) Name() string { return "threshold" }

// Default are 10% and 100 calls.
func (ThresholdRule) Default() Limits { return Limits{10, 100} }

// Least is any change of what was measured at all.
func (ThresholdRule) Least() Limits { return Limits{0, 1} }
