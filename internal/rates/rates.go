// Package rates is the contract between what decides rates (the adaptive
// sampler), what serves them to SDKs (the sampling_rates extension) and what
// reads spans that were sampled by them (the receiver). It has no behaviour of
// its own: the parts find each other through the collector's extensions.
package rates

import "time"

// Target is who asks for rates: one process of a service.
type Target struct {
	Namespace, Service, Environment, Version, Instance string
}

// Rate is what one method, or all methods with a prefix, should do. What is nil
// or empty is left to the SDK's own configuration.
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

// Table is the answer to one target. Once returned it is never changed.
type Table struct {
	Revision   string  `json:"revision"`
	TTLSeconds float64 `json:"ttl_s"`
	Default    Rate    `json:"default"`
	Methods    []Rate  `json:"methods"`

	// Provisional tables are made for targets of which nothing has arrived, by a
	// source that learns. A process that has rates of another collector keeps them
	// until this one has learned what they are.
	Provisional bool `json:"-"`

	// Operations are the rates of other SDKs' spans by span name, the busiest
	// first. They are what stock SDKs ask for.
	Operations []Operation `json:"-"`
}

// Operation is the rate of the spans of another SDK that have one name.
type Operation struct {
	Name string
	P    float64
}

// Source decides rates. Both methods are safe for concurrent use and quick.
type Source interface {
	// Rates returns what holds for the target now, and a channel that is closed
	// once something else does. The same table has the same revision. A target of
	// a service alone is a stock SDK's, which cannot say more of itself: its
	// Operations are those of all namespaces, environments and versions.
	Rates(Target) (table *Table, changed <-chan struct{})

	// Explain says why a method of the target has the rate it has. It answers
	// for methods never seen, too. An empty namespace, environment or version
	// means all of them.
	Explain(target Target, method string) []Explanation
}

// Publisher serves the rates of a source: the extension.
type Publisher interface {
	// Publish makes the source the one that is asked, until withdraw is called.
	// A second source at the same time is an error that names both.
	Publish(owner string, source Source) (withdraw func(), err error)
}

// Server knows which rates were served to whom: the extension, asked by the
// receiver for spans whose p nothing else tells.
type Server interface {
	// ServedRate is the probability that a trace which began in the target then,
	// with a span of this name, was kept with according to the rates that were
	// served to stock SDKs of its service; false = none was.
	ServedRate(target Target, operation string, start time.Time) (p float64, ok bool)
}
