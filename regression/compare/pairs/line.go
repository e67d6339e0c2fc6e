package pairs

import (
	"fmt"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

// Line is one method of a comparison.
type Line struct {
	Class     string                `json:"class"`
	Method    string                `json:"method"`
	Signature string                `json:"signature,omitempty"`
	State     evidence.VerdictState `json:"state"`
	// Basis is what was tested: by the threshold "self" or "inclusive" time, by evidence
	// "own", "own part of inclusive" or "inclusive" time, adjusted for caller mix and hour.
	Basis  string       `json:"basis,omitempty"`
	Metric query.Metric `json:"metric,omitempty"`
	// Times are ns per call.
	BaseNSPerCall float64     `json:"base_ns_per_call"`
	HeadNSPerCall float64     `json:"head_ns_per_call"`
	ChangePercent *float64    `json:"change_percent"`
	Interval      *[2]float64 `json:"interval"`
	BaseRecords   int64       `json:"base_records"`
	HeadRecords   int64       `json:"head_records"`
	BaseClusters  int64       `json:"base_clusters"`
	HeadClusters  int64       `json:"head_clusters"`

	// By evidence only: the evidence and what it had to reach, the part of the plain
	// change that is due to who calls, the change that would have been raised with 90%
	// probability, and the probability that +10% would have.
	EValue        *float64 `json:"e_value"`
	NeededEValue  *float64 `json:"needed_e_value"`
	OnlyLook      bool     `json:"only_look,omitempty"` // raised by the last evaluation alone, and no other can come
	MixPercent    *float64 `json:"mix_percent"`
	Seen90Percent *float64 `json:"seen_90_percent"`
	PowerAt10     *float64 `json:"power_at_10_percent"`
	// Measured is what these processes measured, Common the part that all methods share
	// and that is taken off, Remaining what is left: ChangePercent. Inclusive is measured,
	// too, with all that the method calls.
	Measured     *Part    `json:"measured_change,omitempty"`
	Common       *Part    `json:"common_part,omitempty"`
	CommonReason string   `json:"common_reason,omitempty"`
	Remaining    *Part    `json:"remaining_change,omitempty"`
	Inclusive    *Part    `json:"inclusive_change,omitempty"`
	Reason       string   `json:"reason,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	// NotCompared are measured calls of the time looked at that have no part in the
	// comparison, as those in warm-up or in a bucket that is not over.
	NotCompared int64 `json:"not_compared_records,omitempty"`

	// Trace is how State was decided by evidence.
	Trace evidence.Trace `json:"-"`

	full       string
	base, head *query.Profile
	// explained is what raised callees explain of the growth of its whole time.
	explained []explanation
}

// Part is a change in percent, or a part of one, with its interval.
type Part struct {
	Percent  float64    `json:"percent"`
	Interval [2]float64 `json:"interval"`
}

func (p *Part) String() string {
	return fmt.Sprintf("%+.1f%% (%+.1f%% to %+.1f%%)", p.Percent, p.Interval[0], p.Interval[1])
}
