// Package methodfile reads the file that says how methods are sampled. Its form is
// config/methods.schema.json of the project:
//
//	{"version": 1,
//	 "defaults": {"rate": 0.01},
//	 "tiers": {"entry": {"rate": 1, "cpu_rate": 0.05}, "inner": {"rate": 0.001}},
//	 "methods": [
//	   {"class": "shop/cart.Cart", "method": "Total", "tier": "inner"},
//	   {"class": "shop/web.Handler", "method": "*", "tier": "entry"},
//	   {"match": "shop/codec.*", "rate": 0.0005, "mode": "sample"}]}
//
// Its invariant: one bad entry costs that entry and nothing else, and is named
// with its place, the rule and what was found. For one method the most specific
// entry holds: its exact name, then its class with any method, then the longest
// prefix; of two equals the later.
//
// It does not know which methods a program has, nor what a build does with them.
// Methods of Go have no signature, so entries with one are checked and not used.
package methodfile

// Settings are what the file says about a method; nil and "" say nothing.
type Settings struct {
	Mode          string // sample, aggregate, off
	Rate, CPURate *float64
	Min, Max      *float64 // bounds of rates that adapt
	Tail, Stack   *bool
	Blocking      bool
	Tier          string
	Lazy          int // place of the entry, from 1, whose methods switch on those that they call
}

// Modes are the values of mode.
const (
	ModeSample    = "sample"
	ModeAggregate = "aggregate"
	ModeOff       = "off"
)

// over returns s where it says something, else base.
func (s Settings) over(base Settings) Settings {
	choose(&base.Mode, s.Mode)
	choose(&base.Rate, s.Rate)
	choose(&base.CPURate, s.CPURate)
	choose(&base.Min, s.Min)
	choose(&base.Max, s.Max)
	choose(&base.Tail, s.Tail)
	choose(&base.Stack, s.Stack)
	choose(&base.Blocking, s.Blocking)
	choose(&base.Tier, s.Tier)
	choose(&base.Lazy, s.Lazy)
	return base
}

func choose[T comparable](to *T, v T) {
	var nothing T
	if v != nothing {
		*to = v
	}
}

// ordered reports whether min <= rate <= max.
func (s Settings) ordered() bool {
	return atMost(s.Min, s.Max) && atMost(s.Min, s.Rate) && atMost(s.Rate, s.Max)
}

func atMost(a, b *float64) bool { return a == nil || b == nil || *a <= *b }
