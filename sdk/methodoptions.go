package corehour

import "fmt"

// Mode is what a probe does with a call.
type Mode uint8

const (
	// Sample counts every call and times a share of them, drawn at random. The
	// default.
	Sample Mode = iota
	// Aggregate counts and times every call into sums and a histogram that leave
	// once per interval.
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

// MethodOption is an option of NewMethod. It wins over the method file and the
// environment; rates served by a collector win over it, but for Off and Blocking.
type MethodOption func(*methodOptions)

type methodOptions struct {
	override
	noCaller bool
	faults   []string
}

// override is what one source (code, file, collector) sets for a method; nil and false
// mean it is not set.
type override struct {
	mode     *Mode
	rate     *float64
	cpuRate  *float64
	blocking bool
	tail     *bool
	stack    *bool
	lazy     bool // the entry is that of a method which reaches it
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

// Blocking declares that the method mostly waits. Its goroutine is never locked
// to a thread, so its CPU is never timed.
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

// Tail keeps every long call, about one in a thousand, in addition to those chosen at
// random. Every call is then timed by the wall, about 0.1 us each. It has no effect in
// mode Aggregate.
func Tail() MethodOption {
	return func(o *methodOptions) {
		yes := true
		o.tail = &yes
	}
}

// Stack gives chosen calls their stack: the methods that are on up to this one, the
// outermost first, by class.method, separated by ";". It is searched 64 frames up
// and is at most 4 KiB long; what is further out is "(cut)". A function that begins
// several methods is "(ambiguous)". It costs a chosen call about 1 us and an
// allocation. Sums have no stack, and so has mode Aggregate none, nor a method with
// NoCaller.
func Stack() MethodOption {
	return func(o *methodOptions) {
		yes := true
		o.stack = &yes
	}
}

// NoCaller leaves out looking for the caller, about 1 us of a sampled call. The
// costs of this method then cannot be taken out of its callers' own.
func NoCaller() MethodOption {
	return func(o *methodOptions) { o.noCaller = true }
}

// shareFault returns what is wrong with a share, or "".
func shareFault(what string, share float64) string {
	if share >= 0 && share <= 1 {
		return ""
	}
	return fmt.Sprintf("%s must be within 0 and 1, found %v", what, share)
}
