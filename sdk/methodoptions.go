package corehour

import "fmt"

// Mode selects the work of a probe per call.
type Mode uint8

const (
	// Sample counts every call and times a share of them, drawn at random. The
	// default.
	Sample Mode = iota
	// Aggregate counts and times every call, in sums and a histogram that leave once per
	// interval.
	Aggregate
	// Off neither counts nor times: one load and a branch per call.
	Off
)

func (m Mode) String() string {
	switch m {
	case Sample:
		return "sample"
	case Aggregate:
		return "aggregate"
	case Off:
		return "off"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// MethodOption is an option of NewMethod. It takes precedence over the method file and the
// environment; rates served by a collector take precedence over it, except over Off and Blocking.
type MethodOption func(*methodOptions)

type methodOptions struct {
	override
	noCaller bool
	faults   []string
}

// override holds the settings of a method from one source (code, file, collector); nil and false
// mean not set.
type override struct {
	mode     *Mode
	rate     *float64
	cpuRate  *float64
	blocking bool
	tail     *bool
	stack    *bool
	lazy     bool // the entry belongs to a method that reaches this one
}

func collect(options []MethodOption) methodOptions {
	var o methodOptions
	for _, option := range options {
		if option != nil {
			option(&o)
		}
	}
	return o
}

func (o methodOptions) same(p methodOptions) bool {
	return sameValue(o.mode, p.mode) && sameValue(o.rate, p.rate) && sameValue(o.cpuRate, p.cpuRate) &&
		sameValue(o.tail, p.tail) && sameValue(o.stack, p.stack) && o.blocking == p.blocking && o.noCaller == p.noCaller
}

func sameValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// Rate sets the share of calls that are timed, from 0 (counted only) to 1. In
// mode Aggregate every call is timed, and the rate is the share whose caller and
// CPU are recorded.
func Rate(p float64) MethodOption {
	return func(o *methodOptions) {
		if fault := shareFault("rate", p); fault != "" {
			o.faults = append(o.faults, fault)
			return
		}
		o.rate = &p
	}
}

// CPURate sets the share of the timed calls whose CPU is timed too, from 0 to 1.
func CPURate(c float64) MethodOption {
	return func(o *methodOptions) {
		if fault := shareFault("cpu rate", c); fault != "" {
			o.faults = append(o.faults, fault)
			return
		}
		o.cpuRate = &c
	}
}

// Blocking declares that the method mostly waits. Its goroutine is never locked to a thread, and its
// CPU is never timed.
func Blocking() MethodOption {
	return func(o *methodOptions) { o.blocking = true }
}

// WithMode sets the mode.
func WithMode(mode Mode) MethodOption {
	return func(o *methodOptions) {
		if mode > Off {
			o.faults = append(o.faults, fmt.Sprintf("mode must be Sample, Aggregate or Off, found %s", mode))
			return
		}
		o.mode = &mode
	}
}

// Tail keeps every long call, about one in a thousand, in addition to the randomly chosen ones.
// Every call is then timed by the wall, about 0.1 us each. It has no effect in mode Aggregate.
func Tail() MethodOption {
	return func(o *methodOptions) {
		yes := true
		o.tail = &yes
	}
}

// Stack records the stack of chosen calls: the methods that are on, outermost first, as class.method
// separated by ";". It covers 64 frames and at most 4 KiB; frames further out are "(cut)". A function
// that begins several methods is "(ambiguous)". It costs about 1 us and an allocation per chosen
// call. Sums, mode Aggregate and methods with NoCaller have no stack.
func Stack() MethodOption {
	return func(o *methodOptions) {
		yes := true
		o.stack = &yes
	}
}

// NoCaller skips the search for the caller, about 1 us of a sampled call. The costs of this method
// then cannot be subtracted from its callers' own costs.
func NoCaller() MethodOption {
	return func(o *methodOptions) { o.noCaller = true }
}

// shareFault returns the fault of a share, or "".
func shareFault(what string, share float64) string {
	if share >= 0 && share <= 1 {
		return ""
	}
	return fmt.Sprintf("%s must be within 0 and 1, found %v", what, share)
}
