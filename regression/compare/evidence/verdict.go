package evidence

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/output"
)

// VerdictState is the result of an evaluation for a method.
type VerdictState string

const (
	// Regressed: significantly more expensive, in enough consecutive evaluations.
	Regressed VerdictState = "regressed"
	// Pending: significantly more expensive, not yet in enough consecutive evaluations.
	Pending VerdictState = "pending"
	// Explained: more expensive because of regressed callees.
	Explained VerdictState = "explained"
	// WithService: more expensive by the same factor as the whole service. The service is reported instead.
	WithService VerdictState = "with_whole_service"
	// Moved: more expensive, but the same caller saves as much on another method, so its total cost is unchanged.
	Moved VerdictState = "moved"
	// NotProven: no statistically significant increase. Printed as ~.
	NotProven VerdictState = "not_proven"
	// Undecided: the measured change is above 20% even after its measurement error, but there are too few processes or
	// other methods to separate the version from its hosts.
	Undecided VerdictState = "undecided"
	// NotDistinguishable: the evidence is enough, but its own figures contradict an increase, or the load, the age of
	// the processes or a busy host can be its cause. Verdict.Doubt is the reason.
	NotDistinguishable VerdictState = "not_distinguishable"
	// Small: more expensive, by less than Options.LeastShare of the service's cost.
	Small VerdictState = "small"
	// FewRecords: not enough measured calls on one side.
	FewRecords VerdictState = "few_records"
	// FewBuckets: too few buckets and instances to estimate the error.
	FewBuckets VerdictState = "few_slots"
	// Elsewhere: judged by another metric.
	Elsewhere VerdictState = "elsewhere"
	// New and Gone: only one version has the method, or none of its callers is in both.
	New  VerdictState = "new"
	Gone VerdictState = "gone"
)

// Judged reports whether the method was compared.
func (s VerdictState) Judged() bool {
	switch s {
	case Regressed, Pending, Explained, WithService, Moved, NotProven, Undecided, NotDistinguishable, Small:
		return true
	}
	return false
}

// Verdict describes one changed or unchanged method from the evaluation to the alert. ThresholdRule of package
// pairs fills it, too. Pointers are null where the method was not judged, or the rule has no such figure.
type Verdict struct {
	// Kind is the kind of the alert if the verdict is Regressed.
	Kind Kind `json:"-"`
	// FullName is the method as Deployment.Methods has it. Class, Method and Signature are its parts, which
	// package pairs fills in.
	FullName string `json:"-"`
	// Caller is the full name of the caller, for verdicts on calls per call; else empty.
	Caller    string       `json:"-"`
	Class     string       `json:"class"`
	Method    string       `json:"method"`
	Signature string       `json:"signature,omitempty"`
	State     VerdictState `json:"state"`
	// Basis is the tested cost: a Basis, or "self" or "inclusive" by ThresholdRule.
	Basis Basis `json:"basis,omitempty"`
	// Metric is "cpu" or "wall".
	Metric string `json:"metric,omitempty"`
	// Mean costs in ns per call; for verdicts on calls, calls per call of the caller. The base mean is at the
	// head's mix of callers and hours.
	BaseNSPerCall float64 `json:"base_ns_per_call"`
	HeadNSPerCall float64 `json:"head_ns_per_call"`
	// ChangePercent is the change of the mean, adjusted for caller mix and hour, and Interval its 95% interval:
	// Remaining where the common part is identified, else Measured with an interval that allows for differences
	// between hosts and processes.
	ChangePercent *float64    `json:"change_percent"`
	Interval      *[2]float64 `json:"interval"`
	// Records are the measured calls that were compared, after warm-up.
	BaseRecords  int64 `json:"base_records"`
	HeadRecords  int64 `json:"head_records"`
	BaseClusters int64 `json:"base_clusters"`
	HeadClusters int64 `json:"head_clusters"`

	// EValue is the evidence against a change of at most Options.Margin, and NeededEValue the value that it has
	// to reach by e-BH, given the evidence of all other methods.
	EValue       *float64 `json:"e_value"`
	NeededEValue *float64 `json:"needed_e_value"`
	// LastEvaluation is set if only the last evaluation raised it and no other can follow. NeededEValue is then
	// that of a single evaluation.
	LastEvaluation bool `json:"only_look,omitempty"`
	// MixPercent is the part of the change of the plain means that is due to the mix of callers. It is not part
	// of ChangePercent.
	MixPercent *float64 `json:"mix_percent"`
	// Seen90Percent is the change that would have been raised with 90% probability, and PowerAt10 the
	// probability with which a change of 10% would have been raised.
	Seen90Percent *float64 `json:"seen_90_percent"`
	PowerAt10     *float64 `json:"power_at_10_percent"`
	// Measured is the change that these processes measured, with the error of measuring alone. Common is the part
	// that all methods share; it is subtracted and leaves Remaining, or is nil where it is not identified.
	// CommonReason is the reason for either. Inclusive is the measured change with all callees.
	Measured     *Part  `json:"measured_change,omitempty"`
	Common       *Part  `json:"common_part,omitempty"`
	CommonReason string `json:"common_reason,omitempty"`
	Remaining    *Part  `json:"remaining_change,omitempty"`
	Inclusive    *Part  `json:"inclusive_change,omitempty"`
	// Doubt is the reason why enough evidence does not make an alert, where State is NotDistinguishable or Small.
	Doubt string `json:"doubt,omitempty"`
	// Reason is one sentence with the figures that decided.
	Reason string `json:"reason,omitempty"`
	// Needed is what would decide the verdict if it is open.
	Needed *Needed `json:"needed,omitempty"`
	// Warnings are reasons why the figures are less certain than they look.
	Warnings []string `json:"warnings,omitempty"`
	// NotCompared is the number of measured calls that were left out, for example those during warm-up.
	NotCompared int64 `json:"not_compared_records,omitempty"`

	// ExcessPerDay is the cost of the change in ns a day, at the head's rate of calls.
	ExcessPerDay float64 `json:"-"`
	// Explains names the regressed callees, or the method from which the cost moved.
	Explains []string `json:"-"`
	// Trace holds the conditions that decided State, by evidence.
	Trace Trace `json:"-"`
}

// Part is a change in percent, or a part of one, with its 95% interval.
type Part struct {
	Percent  float64    `json:"percent"`
	Interval [2]float64 `json:"interval"`
}

func (p *Part) String() string {
	return fmt.Sprintf("%s (%s to %s)", output.Change(p.Percent), output.Change(p.Interval[0]), output.Change(p.Interval[1]))
}

// Name returns the method, or "caller -> method", for people. It is no key: names may contain an arrow.
func (v *Verdict) Name() string {
	if v.Caller == "" {
		return v.FullName
	}
	return v.Caller + " -> " + v.FullName
}

// Kind is the kind of an alert.
type Kind string

const (
	Regression   Kind = "regression"
	MoreCalls    Kind = "more_calls"
	WholeService Kind = "whole_service"
)

// Result is the result of one evaluation of one deployment.
type Result struct {
	Methods []Verdict
	// Service is the verdict on all methods together: on the change that they share, or on the cost of all.
	Service Verdict
	// Calls are the verdicts on pairs of caller and method: calls of the method per call of the caller.
	Calls []Verdict
	// Alerts are the regressed verdicts of all kinds, by ExcessPerDay.
	Alerts []Verdict
	// ProcessDifferences are the differences between processes of one version, for later deployments.
	ProcessDifferences ProcessDifferences
	// Spreads are the spreads that were assumed for hosts and processes, from these processes and earlier
	// deployments.
	Spreads Spreads
	WarmUp  WarmUp
	// Warnings hold for all verdicts.
	Warnings []string
}

// outcome holds the figures of a verdict while it is made, as shares: 0.1 is 10%. Fields are those of Verdict.
type outcome struct {
	Method         string
	Caller         string
	State          VerdictState
	Doubt          string
	Reason         string
	Needed         *Needed
	Basis          Basis
	Change         float64
	Interval       [2]float64
	Measured       changePart
	Common         *changePart
	CommonReason   string
	Remaining      *changePart
	Inclusive      changePart
	Tail           bool // rare calls became more expensive or more frequent
	EValue         float64
	LogE           float64 // logarithm of EValue, which cannot overflow
	NeededE        float64
	LastEvaluation bool
	Seen90         float64
	PowerAt10      float64
	BaseRecords    float64
	HeadRecords    float64
	BaseMean       float64
	HeadMean       float64
	Mix            float64
	ExcessPerDay   float64
	Explains       []string
	Warnings       []string
	Trace          Trace
}

// changePart is a change as a share, or a part of one, with its 95% interval.
type changePart struct {
	Change   float64
	Interval [2]float64
}

// percent turns shares into percent.
func (s changePart) percent() *Part {
	return &Part{Percent: 100 * s.Change, Interval: [2]float64{100 * s.Interval[0], 100 * s.Interval[1]}}
}

// verdict returns the finished verdict. It has no change where nothing was judged.
func (o *outcome) verdict(kind Kind) Verdict {
	v := Verdict{
		Kind: kind, FullName: o.Method, Caller: o.Caller, State: o.State, Basis: o.Basis, Reason: o.Reason, Needed: o.Needed, Warnings: o.Warnings,
		BaseNSPerCall: o.BaseMean, HeadNSPerCall: o.HeadMean, BaseRecords: int64(o.BaseRecords), HeadRecords: int64(o.HeadRecords),
		ExcessPerDay: o.ExcessPerDay, Explains: o.Explains, Trace: o.Trace,
	}
	if !o.State.Judged() {
		return v
	}
	change := changePart{o.Change, o.Interval}.percent()
	v.ChangePercent, v.Interval, v.MixPercent = &change.Percent, &change.Interval, new(100*o.Mix)
	if finite(o.EValue) {
		v.EValue, v.NeededEValue = new(o.EValue), new(o.NeededE)
	}
	v.LastEvaluation = o.LastEvaluation
	if o.State == NotDistinguishable || o.State == Small {
		v.Doubt = o.Doubt
	}
	v.Measured, v.Inclusive, v.CommonReason = o.Measured.percent(), o.Inclusive.percent(), o.CommonReason
	if o.Common != nil {
		v.Common = o.Common.percent()
	}
	if o.Remaining != nil {
		v.Remaining = o.Remaining.percent()
	}
	if finite(o.Seen90) {
		v.Seen90Percent = new(100 * o.Seen90)
	}
	v.PowerAt10 = new(o.PowerAt10)
	return v
}

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// shareOf turns a change of a logarithm into a share. It is at most a millionfold, which JSON can hold.
func shareOf(log float64) float64 { return math.Expm1(min(log, math.Log1p(1e6))) }
