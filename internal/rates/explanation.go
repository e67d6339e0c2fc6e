package rates

// MethodState says what the sampler knows of a method.
type MethodState string

// States of a method.
const (
	Known    MethodState = "known"    // has traffic and a rate of its own
	Unseen   MethodState = "unseen"   // nothing has arrived from it
	Off      MethodState = "off"      // told not to measure
	Overflow MethodState = "overflow" // shares one place with others, the bound is reached
	Rare     MethodState = "rare"     // too few records to know its spread
)

// Explanation is why one method of one service and version has its rate: what
// /v1/explain answers and `corehour explain` prints.
type Explanation struct {
	Namespace   string `json:"namespace,omitempty"`
	Service     string `json:"service"`
	Environment string `json:"environment,omitempty"`
	Version     string `json:"version,omitempty"`
	Method      string `json:"method"`

	State    MethodState `json:"state"`
	Strategy string      `json:"strategy"`
	Tier     string      `json:"tier,omitempty"`  // of the method file
	Class    string      `json:"class,omitempty"` // entry, mid or inner, learned
	Mode     string      `json:"mode,omitempty"`
	Rule     string      `json:"rule,omitempty"`   // the entry of the method file, `methods[3] shop/codec.*`
	Reason   string      `json:"reason"`           // a sentence
	Score    string      `json:"score,omitempty"`  // of the scorecard: normal, hotspot, unmanaged or off
	Shadow   bool        `json:"shadow,omitempty"` // only computed: neither served nor enforced

	CallsPerSecond   float64  `json:"calls_per_second"`
	RecordsPerSecond float64  `json:"records_per_second"` // kept
	EntryShare       *float64 `json:"entry_share,omitempty"`
	MeanCPUNs        *float64 `json:"mean_cpu_ns,omitempty"`
	MeanWallNs       *float64 `json:"mean_wall_ns,omitempty"` // where no CPU is known
	Spread           *float64 `json:"spread,omitempty"`       // of CPU, or of wall time where no CPU is known: sd / mean
	SpreadOf         string   `json:"spread_of,omitempty"`

	RateAsked   float64  `json:"rate_asked"`              // what the sampler serves
	RateInForce *float64 `json:"rate_in_force,omitempty"` // the p of the records that arrived last

	// What more records would buy: the relative standard error of a day's total
	// at this rate, and at twice as many records.
	ErrorOfDay       *float64 `json:"error_of_day,omitempty"`
	ErrorOfDayDouble *float64 `json:"error_of_day_with_twice_the_records,omitempty"`
}
