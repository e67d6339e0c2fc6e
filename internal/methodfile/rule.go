package methodfile

import (
	"fmt"
	"math"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// Mode is what is done with a method's calls.
type Mode string

const (
	ModeSample    Mode = "sample"    // some calls are timed, each is a record
	ModeAggregate Mode = "aggregate" // all calls are timed and added up
	ModeOff       Mode = "off"       // none is timed
)

// Scopes of an entry: which functions a build gives probes beyond those it names.
const (
	ScopeLazy  = "lazy"  // those too, off until a caller that is on has run
	ScopeEager = "eager" // those that they reach by calls
	ScopeTotal = "total" // all of the program
)

// MinRate is the lowest rate: one call in a thousand million.
const MinRate = 1e-9

// Rule is what the file says of a method, all sources taken together.
type Rule struct {
	// Index is the entry's place in `methods`, -1 if only the defaults apply.
	Index int

	// Reason says where the rule comes from: `methods[3] shop/codec.*`.
	Reason string

	Tier string // "" = none

	// Rate is the probability that a call is timed, 0 where the file does not
	// say. Min and Max bound what an adaptive rate may become; 0 and 1 where
	// the file does not say.
	Rate, Min, Max float64

	// Explicit tells that the rate is the entry's or its tier's, not that of the
	// defaults; Adaptive, that one of these says min or max, between which the
	// rate may move.
	Explicit, Adaptive bool

	// CPURate is the share of timed calls whose CPU is timed too, NaN where
	// the file does not say.
	CPURate float64

	Mode     Mode
	Tail     bool // keep every call above a threshold
	Stack    bool // chosen calls carry the methods above them
	Blocking bool // calls wait: never time CPU

	Scope string // what a build compiles in besides; "" = nothing

	class, method, signature string
	prefix                   string
	isPrefix                 bool
}

// name is the rule's pattern, as it appears in reasons.
func (r *Rule) name() string {
	if r.isPrefix {
		return r.prefix + "*"
	}
	return r.Unsigned() + r.signature
}

// settings are the fields that entries, tiers and defaults share. Nil stands
// for not said.
type settings struct {
	rate, cpuRate, min, max *float64
	mode                    *Mode
	tail, stack             *bool
	tier                    *string
}

// under fills what s does not say from what is less specific.
func (s settings) under(general settings) settings {
	return settings{
		rate:    first(s.rate, general.rate),
		cpuRate: first(s.cpuRate, general.cpuRate),
		min:     first(s.min, general.min),
		max:     first(s.max, general.max),
		mode:    first(s.mode, general.mode),
		tail:    first(s.tail, general.tail),
		stack:   first(s.stack, general.stack),
		tier:    first(s.tier, general.tier),
	}
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func value[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}

// fill writes the settings into a rule.
func (s settings) fill(r *Rule) {
	r.Rate = value(s.rate, 0)
	r.CPURate = value(s.cpuRate, math.NaN())
	r.Min = value(s.min, 0)
	r.Max = value(s.max, 1)
	r.Mode = value(s.mode, ModeSample)
	r.Tail = value(s.tail, false)
	r.Stack = value(s.stack, false)
	r.Tier = value(s.tier, "")
}

// Pinned reports whether nothing but the file decides: about the mode, or about a
// rate that no bounds stand next to.
func (r *Rule) Pinned() bool {
	return r.Mode != ModeSample && r.Mode != "" || r.Explicit && !r.Adaptive
}

// Bound moves a rate that is not the file's inside the rule's bounds.
func (r *Rule) Bound(rate float64) float64 { return min(max(rate, r.Min), r.Max) }

// disorder is what is said if min <= rate <= max does not hold, else "".
func (s settings) disorder() string {
	low, high := value(s.min, 0), value(s.max, 1)
	if rate := value(s.rate, low); low <= rate && rate <= high {
		return ""
	}
	var parts []string
	say := func(name string, p *float64) {
		if p != nil {
			parts = append(parts, fmt.Sprintf("%s %v", name, *p))
		}
	}
	say("min", s.min)
	say("rate", s.rate)
	say("max", s.max)
	return strings.Join(parts, ", ")
}

// Names is what the rule matches in the form that SDKs get: the name of one
// method, or a prefix and `*`. Neither if it is for one of several signatures,
// which no SDK that asks knows.
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

// Measures reports whether the rule has calls timed, of methods that nothing else names.
func (r *Rule) Measures() bool {
	return r.Mode == ModeAggregate || r.Mode != ModeOff && r.Rate > 0
}

// Single reports whether the rule names one method.
func (r *Rule) Single() bool { return r.Index >= 0 && !r.isPrefix && r.method != "*" }

// Signed reports whether the rule is for one signature only.
func (r *Rule) Signed() bool { return r.signature != "" }

// Unsigned is the name of the method without its signature.
func (r *Rule) Unsigned() string { return methodspan.Function{Class: r.class, Method: r.method}.Full() }
