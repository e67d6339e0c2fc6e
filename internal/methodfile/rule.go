package methodfile

import "github.com/corehour/corehour/internal/methodspan"

// Mode is how the calls of a method are measured.
type Mode string

const (
	ModeSample    Mode = "sample"    // some calls are timed, each is a record
	ModeAggregate Mode = "aggregate" // all calls are timed and added up
	ModeOff       Mode = "off"       // no call is timed
)

// Scopes of an entry: the functions that get probes in a build in addition to those that the
// entry names.
const (
	ScopeLazy  = "lazy"  // functions they call, off until a caller that is on has run
	ScopeEager = "eager" // functions that they reach by calls
	ScopeTotal = "total" // all functions of the program
)

// MinRate is the lowest rate: one call in 10^9.
const MinRate = 1e-9

// Rule holds the settings of an entry, completed by its tier and the defaults.
type Rule struct {
	// Index is the index of the entry in `methods`, -1 for the defaults alone.
	Index int

	// Reason names the origin of the rule: `methods[3] shop/codec.*`.
	Reason string

	Tier string // empty = none

	// Rate is the probability that a call is timed, 0 if the file sets none. Min and Max
	// bound an adaptive rate, 0 and 1 if the file sets none.
	Rate, Min, Max float64

	// Explicit is true if the rate comes from the entry or its tier, not from the defaults;
	// Adaptive, if one of them sets min or max, between which the rate may move.
	Explicit, Adaptive bool

	// CPURate is the share of timed calls whose CPU time is measured too, NaN if the file
	// sets none.
	CPURate float64

	Mode     Mode
	Tail     bool // keep every call above a threshold
	Stack    bool // sampled calls carry their callers
	Blocking bool // calls wait: never measure CPU time

	Scope string // functions that a build adds probes to; empty = none

	class, method, signature string
	prefix                   string
	isPrefix                 bool
}

// name returns the pattern of the rule, as reasons contain it.
func (r *Rule) name() string {
	if r.isPrefix {
		return r.prefix + "*"
	}
	return r.Unsigned() + r.signature
}

// Pinned reports whether the file alone decides the mode, or a rate without bounds.
func (r *Rule) Pinned() bool {
	return r.Mode != ModeSample && r.Mode != "" || r.Explicit && !r.Adaptive
}

// Bound limits a rate to the bounds of the rule.
func (r *Rule) Bound(rate float64) float64 { return min(max(rate, r.Min), r.Max) }

// Names returns the methods of the rule in the form that SDKs receive: the name of one method,
// or a prefix with `*`. Both are empty if the rule has a signature, since requests of SDKs name
// none.
func (r *Rule) Names() (name, match string) {
	switch {
	case r.isPrefix:
		return "", r.prefix + "*"
	case r.Index < 0 || r.signature != "" || r.method == "*" && r.class == "":
		return "", ""
	case r.method == "*":
		return "", r.class + ".*"
	}
	return r.Unsigned(), ""
}

// Measures reports whether the rule by itself has calls timed.
func (r *Rule) Measures() bool {
	return r.Mode == ModeAggregate || r.Mode != ModeOff && r.Rate > 0
}

// Single reports whether the rule names one method.
func (r *Rule) Single() bool { return r.Index >= 0 && !r.isPrefix && r.method != "*" }

// Signed reports whether the rule is for one signature only.
func (r *Rule) Signed() bool { return r.signature != "" }

// Unsigned returns the name of the method without its signature.
func (r *Rule) Unsigned() string { return methodspan.Function{Class: r.class, Method: r.method}.Full() }
