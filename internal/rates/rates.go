// Package rates is the contract between the adaptive sampler, which decides rates, the
// sampling_rates extension, which serves them to SDKs, and the receiver, which reads spans that
// were sampled by them. It contains types only: the components find each other through the
// collector's extensions.
package rates

import "time"

// Target identifies a process that asks for rates.
type Target struct {
	Namespace, Service, Environment, Version, Instance string
}

// Rate holds the settings of one method, or of all methods with a prefix. Nil and empty fields
// are left to the SDK's own configuration.
type Rate struct {
	Name     string   `json:"name,omitempty"`  // fully qualified, as the SDK sent it
	Match    string   `json:"match,omitempty"` // a prefix and `*`, instead of a name
	Mode     string   `json:"mode,omitempty"`  // sample, aggregate or off
	P        *float64 `json:"p,omitempty"`
	CPUP     *float64 `json:"cpu_p,omitempty"`
	Tail     *bool    `json:"tail,omitempty"`
	Blocking bool     `json:"blocking,omitempty"`
	Stack    *bool    `json:"stack,omitempty"`
	Tier     string   `json:"tier,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// Table is the answer to one target. It is immutable once returned.
type Table struct {
	Revision   string  `json:"revision"`
	TTLSeconds float64 `json:"ttl_s"`
	Default    Rate    `json:"default"`
	Methods    []Rate  `json:"methods"`

	// Provisional is true for a target of which an adaptive source has received no data yet.
	// A process that has rates from another collector keeps them until this one has learned
	// its own.
	Provisional bool `json:"-"`

	// Operations are the rates of spans of stock SDKs by span name, the busiest first.
	Operations []Operation `json:"-"`
}

// Operation is the rate of the spans of a stock SDK with one name.
type Operation struct {
	Name string
	P    float64
}

// Source decides rates. Both methods are fast and safe for concurrent use.
type Source interface {
	// Rates returns the current table of the target, and a channel that is closed when the
	// table changes. Equal tables have equal revisions. A target with only a service belongs
	// to a stock SDK, which sends nothing else: its Operations cover all namespaces,
	// environments and versions.
	Rates(Target) (table *Table, changed <-chan struct{})

	// Explain explains the rate of a method of the target, also of a method that was never
	// seen. An empty namespace, environment or version matches all.
	Explain(target Target, method string) []Explanation
}

// Publisher serves the rates of a source: the extension.
type Publisher interface {
	// Publish serves the rates of the source until withdraw is called. A second source at the
	// same time is an error that names both.
	Publish(owner string, source Source) (withdraw func(), err error)
}

// Server remembers which rates were served to which target: the extension. The receiver asks it
// for spans without any other source of p.
type Server interface {
	// ServedRate returns the sampling probability of a trace that the target started with a
	// span of this name at this time, by the rates that were served to stock SDKs of its
	// service; false if none were served.
	ServedRate(target Target, operation string, start time.Time) (p float64, ok bool)
}
