package evidence

import "math"

// VerdictState says what an evaluation found out about a method.
type VerdictState string

const (
	// Regressed: significantly more expensive, in enough evaluations in a row.
	Regressed VerdictState = "regressed"
	// Pending: significantly more expensive, in too few evaluations yet.
	Pending VerdictState = "pending"
	// Explained: more expensive, and raised callees are why.
	Explained VerdictState = "explained"
	// WithService: more expensive as the whole service is, which is reported.
	WithService VerdictState = "with_whole_service"
	// Moved: more expensive, and another method got cheaper by as much; who calls both
	// pays the same.
	Moved VerdictState = "moved"
	// NotProven: nothing that could not be chance. Printed as ~.
	NotProven VerdictState = "not_proven"
	// Undecided: the measured change is above 20% beyond its measurement error, and there
	// are too few processes, or no other methods, to tell the version from its hosts.
	Undecided VerdictState = "undecided"
	// FewRecords: not enough measured calls on one side.
	FewRecords VerdictState = "few_records"
	// FewBuckets: too few buckets and instances to tell the size of chance.
	FewBuckets VerdictState = "few_slots"
	// Elsewhere: judged by another metric.
	Elsewhere VerdictState = "elsewhere"
	// New and Gone: only one version has it, or none of its callers is in both.
	New  VerdictState = "new"
	Gone VerdictState = "gone"
)

// Judged reports whether the method was really compared.
func (s VerdictState) Judged() bool {
	switch s {
	case Regressed, Pending, Explained, WithService, Moved, NotProven, Undecided:
		return true
	}
	return false
}

// Verdict is what an evaluation says of one method. Changes are shares: 0.1 is 10%.
type Verdict struct {
	Method string `json:"method"`
	// Caller is who calls Method, of a pair; else empty.
	Caller string       `json:"caller,omitempty"`
	State  VerdictState `json:"state"`
	// Reason says in one sentence what follows from what.
	Reason string `json:"reason"`

	// Basis says what Change is of.
	Basis Basis `json:"basis"`
	// Change of the mean cost per call, adjusted for caller mix and hour, and its 95%
	// interval: Remaining where the common part is identified, else Measured with what
	// hosts and processes may add to the interval.
	Change   float64    `json:"change"`
	Interval [2]float64 `json:"interval"`
	// Measured is what these processes measured, with the error of measuring alone.
	Measured Part `json:"measured_change"`
	// Common is the part that all methods share and that is taken off, null where it is
	// not identified; CommonReason says why.
	Common       *Part  `json:"common_part"`
	CommonReason string `json:"common_reason"`
	Remaining    *Part  `json:"remaining_change"`
	// Inclusive is the measured change with all it calls.
	Inclusive Part `json:"inclusive_change"`
	// Tail says that rare calls are what became more expensive.
	Tail bool `json:"tail,omitempty"`
	// EValue is the evidence against "at most Margin more expensive"; LogE its logarithm,
	// which cannot overflow.
	EValue float64 `json:"e_value"`
	LogE   float64 `json:"log_e"`
	// NeededE is what EValue has to reach given those of all others, by e-BH.
	NeededE float64 `json:"needed_e_value"`
	// LastEvaluation reports that the last evaluation raised it, the one before did not, and no
	// other can come: NeededE is what one evaluation takes then.
	LastEvaluation bool `json:"only_look,omitempty"`
	// Seen90 is the change that would have been raised with 90% probability, and
	// PowerAt10 the probability that 10% would have.
	Seen90    float64 `json:"seen_90"`
	PowerAt10 float64 `json:"power_at_10"`

	// Records compared, of each version, after warm-up.
	BaseRecords float64 `json:"base_records"`
	HeadRecords float64 `json:"head_records"`
	// Means are ns per call, of Basis; BaseMean is what the head's calls would have
	// cost in the base version.
	BaseMean float64 `json:"base_mean"`
	HeadMean float64 `json:"head_mean"`
	// Mix is the part of the plain means' change that is due to who calls, as a
	// share of the base's mean: no regression, and no part of Change.
	Mix float64 `json:"mix"`
	// ExcessPerDay is what the change costs in ns a day, at the rate of calls of
	// the head version so far.
	ExcessPerDay float64 `json:"excess_per_day"`
	// Explains names raised callees, or where the cost came from.
	Explains []string `json:"explains,omitempty"`
	// Warnings are what makes the figures weaker than they look.
	Warnings []string `json:"warnings,omitempty"`
	// Trace is how State was decided, of methods.
	Trace Trace `json:"-"`
}

// Part is a change, or a part of one, with its 95% interval.
type Part struct {
	Change   float64    `json:"change"`
	Interval [2]float64 `json:"interval"`
}

// Name is the method, or "caller -> method", for people: names may hold an arrow.
func (v *Verdict) Name() string {
	if v.Caller == "" {
		return v.Method
	}
	return v.Caller + " -> " + v.Method
}

// shareOf turns a change of a logarithm into a share. It ends at a millionfold, so
// that what is not known at all is still a number that JSON can hold.
func shareOf(log float64) float64 { return math.Expm1(min(log, math.Log1p(1e6))) }

// Result is one evaluation of one deployment.
type Result struct {
	Methods []Verdict `json:"methods"`
	// Service is about all methods together: what they share, or the cost of all.
	Service Verdict `json:"service"`
	// Calls are pairs of caller and method in which one call of the caller makes
	// more calls than it did.
	Calls []Verdict `json:"calls"`
	// Alerts are the verdicts to tell people, in one message: regressed ones of
	// all kinds, by ExcessPerDay.
	Alerts []Alert `json:"alerts"`
	// Differences are what processes of one version differ by, for later deployments.
	Differences Differences `json:"-"`
	// Spreads are those that hosts and processes are taken to have: of these processes and
	// of earlier deployments.
	Spreads Spreads `json:"-"`
	WarmUp  WarmUp  `json:"warm_up"`
	// Warnings hold for all verdicts.
	Warnings []string `json:"warnings,omitempty"`
}

// Kind is what an alert is about.
type Kind string

const (
	Regression   Kind = "regression"
	MoreCalls    Kind = "more_calls"
	WholeService Kind = "whole_service"
)

// Alert is a verdict of a kind.
type Alert struct {
	Kind Kind `json:"kind"`
	Verdict
}
