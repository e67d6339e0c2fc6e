package cost

import (
	"time"

	"github.com/corehour/corehour/regression/query"
)

// Report is what `corehour cost` prints. Units are in the names.
type Report struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// ObservedDays is the part of the window in which there are rows; per-day
	// figures are figures of the window divided by it.
	ObservedDays float64   `json:"observed_days"`
	Methods      []Method  `json:"methods"`
	Services     []Service `json:"services"`
}

// Method is one line. CPU figures are null where no CPU was measured, dollars
// where nothing has a price.
type Method struct {
	query.Service
	Class     string `json:"class"`
	Method    string `json:"method"`
	Signature string `json:"signature,omitempty"`

	Calls           float64 `json:"calls"`
	UnmeasuredCalls float64 `json:"unmeasured_calls"`
	Measured        int64   `json:"measured"`
	CPUMeasured     int64   `json:"cpu_measured"`
	ErrorShare      float64 `json:"error_share"`

	WallNSPerCall *float64 `json:"wall_ns_per_call"`
	CPUNSPerCall  *float64 `json:"cpu_ns_per_call"`

	SelfCoreHours   *float64 `json:"self_core_hours"`
	SelfCoreHoursSE *float64 `json:"self_core_hours_se"`
	SelfUSD         *float64 `json:"self_usd"`
	SelfUSDSE       *float64 `json:"self_usd_se"`
	SelfUSDPerDay   *float64 `json:"self_usd_per_day"`
	// UnpricedCoreHours is the part of SelfCoreHours that has no price.
	UnpricedCoreHours float64 `json:"unpriced_core_hours"`
	// ShareOfProcessCPU is SelfCoreHours as a share of the CPU time of the
	// service's processes.
	ShareOfProcessCPU *float64 `json:"share_of_process_cpu"`

	InclusiveCoreHours *float64 `json:"inclusive_core_hours"`
	InclusiveUSD       *float64 `json:"inclusive_usd"`

	// Uncertain is set where the standard error is above 30% of the self cost,
	// or unknown callers of other methods could change it by as much. Why says
	// which.
	Uncertain bool   `json:"uncertain"`
	Why       string `json:"why,omitempty"`
}

// Service says how the methods' self costs add up to the processes' CPU time.
type Service struct {
	query.Service
	// Process and unattributed figures are null where no process row says how
	// much CPU the processes used.
	ProcessCoreHours      *float64 `json:"process_core_hours"`
	AttributedCoreHours   float64  `json:"attributed_core_hours"`
	UnattributedCoreHours *float64 `json:"unattributed_core_hours"`
	ProcessUSD            *float64 `json:"process_usd"`
	AttributedUSD         float64  `json:"attributed_usd"`
	UnattributedUSD       *float64 `json:"unattributed_usd"`
	// UnpricedCoreHours are process CPU (or, without process rows, self CPU)
	// that no price is known for; dollars leave it out.
	UnpricedCoreHours float64 `json:"unpriced_core_hours"`
	// UnmeasuredCalls were counted in stretches of time of which no measurement
	// exists; costs leave them out.
	UnmeasuredCalls float64 `json:"unmeasured_calls"`
	// UnknownCallerCoreHours were spent in calls whose caller is not known and
	// can't be inferred: too much self cost of the methods that called them.
	UnknownCallerCoreHours float64 `json:"unknown_caller_core_hours"`
}
