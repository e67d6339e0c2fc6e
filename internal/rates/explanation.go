package rates

// MethodState is the state of a method in the sampler.
type MethodState string

// Method states.
const (
	Known    MethodState = "known"    // has traffic and a rate of its own
	Unseen   MethodState = "unseen"   // nothing has arrived from it
	Off      MethodState = "off"      // the method file switches it off
	Overflow MethodState = "overflow" // the table is full, so it shares one entry with other methods
	Rare     MethodState = "rare"     // too few records to estimate its spread
)

// Explanation explains the rate of one method of one service and version: the answer of
// /v1/explain, which `corehour explain` prints.
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
	Shadow   bool        `json:"shadow,omitempty"` // the rate is only computed, neither served nor enforced

	CallsPerSecond   float64  `json:"calls_per_second"`
	RecordsPerSecond float64  `json:"records_per_second"` // kept
	EntryShare       *float64 `json:"entry_share,omitempty"`
	MeanCPUNs        *float64 `json:"mean_cpu_ns,omitempty"`
	MeanWallNs       *float64 `json:"mean_wall_ns,omitempty"` // if the CPU time is unknown
	Spread           *float64 `json:"spread,omitempty"`       // standard deviation / mean of CPU time, of wall time if the CPU time is unknown
	SpreadOf         string   `json:"spread_of,omitempty"`

	RateAsked   float64  `json:"rate_asked"`              // served by the sampler
	RateInForce *float64 `json:"rate_in_force,omitempty"` // the p of the records that arrived last

	// The relative standard error of a day's total at this rate, and with twice as many
	// records.
	ErrorOfDay       *float64 `json:"error_of_day,omitempty"`
	ErrorOfDayDouble *float64 `json:"error_of_day_with_twice_the_records,omitempty"`
}
