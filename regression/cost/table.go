package cost

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/perday"
	"github.com/corehour/corehour/regression/query"
)

// Table is the answer of `corehour cost`. Field names contain the units.
type Table struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// RowsBy is the level of rollup rows, hour or minute, that the requested window would have cut: the
	// window was widened to whole ones. Empty if it was not widened.
	RowsBy string `json:"rows_by,omitempty"`
	// ObservedDays is the longest time that a service ran in the window. Figures per day are figures of the
	// window divided by the service's own time. A month has 365/12 days.
	ObservedDays float64 `json:"observed_days"`
	// LastRow is the end of the last row.
	LastRow time.Time `json:"last_row"`
	// Instances and Records (measured calls) are the sample sizes of the figures.
	Instances int64       `json:"instances"`
	Records   int64       `json:"records"`
	By        []Dimension `json:"by"`
	// Methods holds the lines if By is only the method, Groups otherwise.
	Methods  []Line    `json:"methods"`
	Groups   []Line    `json:"groups,omitempty"`
	Services []Service `json:"services"`
	// Edges hold the CPU time of callees by caller.
	Edges []query.CostEdge `json:"-"`
}

// Lines returns the lines of either kind.
func (r *Table) Lines() []Line {
	if r.Groups != nil {
		return r.Groups
	}
	return r.Methods
}

// Line is a method or a group of methods. Attributes that were not grouped by are empty. CPU figures are null
// where no CPU was measured, dollars where nothing has a price.
type Line struct {
	query.Service
	Version   string `json:"version,omitempty"`
	Class     string `json:"class"`
	Method    string `json:"method"`
	Signature string `json:"signature,omitempty"`
	Owner     string `json:"owner,omitempty"`
	Caller    string `json:"caller,omitempty"`
	// Group is the goroutine group: (none) for calls without one, (unknown) for calls that were only counted
	// and for rollup rows, (other) for groups beyond the first 100.
	Group string `json:"group,omitempty"`

	Calls float64 `json:"calls"`
	// CallsSE is the standard error of Calls if they are estimated from sampled spans of other SDKs.
	CallsSE         float64 `json:"calls_se,omitempty"`
	UnmeasuredCalls float64 `json:"unmeasured_calls"`
	Instances       int64   `json:"instances"`
	Measured        int64   `json:"measured"`
	CPUMeasured     int64   `json:"cpu_measured"`
	ErrorShare      float64 `json:"error_share"`
	// PendingRecords counts measured calls whose counts have not arrived. No figure includes them.
	PendingRecords int64 `json:"pending_records"`
	// AssumedCalls counts calls of spans without a sampling probability. Their number is a lower bound.
	AssumedCalls float64 `json:"assumed_calls"`
	// Requests estimates the calls that no measured method made, in the services of the line: those from
	// outside.
	Requests float64 `json:"requests"`

	WallNSPerCall *float64 `json:"wall_ns_per_call"`
	CPUNSPerCall  *float64 `json:"cpu_ns_per_call"` // with callees; methods only

	SelfCoreHours         *float64    `json:"self_core_hours"`
	SelfCoreHoursSE       *float64    `json:"self_core_hours_se"`
	SelfCoreHoursInterval *[2]float64 `json:"self_core_hours_interval"`
	SelfUSD               *float64    `json:"self_usd"`
	SelfUSDSE             *float64    `json:"self_usd_se"`
	SelfUSDInterval       *[2]float64 `json:"self_usd_interval"`
	SelfUSDPerCall        *float64    `json:"self_usd_per_call"`
	SelfUSDPerRequest     *float64    `json:"self_usd_per_request"`
	SelfUSDPerDay         *float64    `json:"self_usd_per_day"`
	SelfUSDPerMonth       *float64    `json:"self_usd_per_month"`
	USDPerDayBasis        string      `json:"usd_per_day_basis,omitempty"`
	// SelfCoreHoursLeast and SelfUSDLeast are the lower ends of 99% intervals, set if LowerBound is. The
	// figures above are estimates, which can be above the truth.
	SelfCoreHoursLeast *float64 `json:"self_core_hours_least,omitempty"`
	SelfUSDLeast       *float64 `json:"self_usd_least,omitempty"`
	// GenericPrice is set if a service of the line uses a public list price.
	GenericPrice bool `json:"generic_price"`
	// UnpricedCoreHours is the part of SelfCoreHours without a price.
	UnpricedCoreHours float64 `json:"unpriced_core_hours"`
	// ShareOfProcessCPU is SelfCoreHours as a share of the CPU time of the processes of all services of the
	// line.
	ShareOfProcessCPU *float64 `json:"share_of_process_cpu"`

	// Inclusive figures nest. They leave out calls from within the group.
	InclusiveCoreHours *float64 `json:"inclusive_core_hours"`
	InclusiveUSD       *float64 `json:"inclusive_usd"`

	// Wall time of all calls, for services without measured CPU; null for others and by goroutine group. Self
	// wall time excludes the calls made. It is too low where these ran concurrently or longer than their
	// caller; SelfWallClipped is set where it would be negative.
	SelfWallHours         *float64    `json:"self_wall_hours"`
	SelfWallHoursSE       *float64    `json:"self_wall_hours_se"`
	SelfWallHoursInterval *[2]float64 `json:"self_wall_hours_interval"`
	SelfWallClipped       bool        `json:"self_wall_clipped"`
	InclusiveWallHours    *float64    `json:"inclusive_wall_hours"`

	// Wall and CPU are percentiles of the duration of calls, within 1%; methods only, if requested.
	Wall *Percentiles `json:"wall_ns,omitempty"`
	CPU  *Percentiles `json:"cpu_ns,omitempty"`

	// LowerBound is set if calls too rare for the sample can determine the cost. There is no interval then,
	// only a lower bound. Warning is the reason why there is no interval: this one, or too few timed calls.
	LowerBound bool   `json:"lower_bound"`
	Warning    string `json:"warning,omitempty"`
	// Uncertain is set if the standard error exceeds 30% of the self cost, unknown callers of other methods
	// could change it by as much, or too few calls were timed for an interval. Why is the reason.
	Uncertain bool   `json:"uncertain"`
	Why       string `json:"why,omitempty"`

	// BelowResolution is set if the self cost is within the uncertainty of its probes. The self figures are
	// null then, and ResolutionNS is the upper end of the 95% interval per call. Otherwise ResolutionNS is
	// the uncertainty of the probes per call.
	BelowResolution bool    `json:"below_resolution"`
	ResolutionNS    float64 `json:"resolution_ns"`
	// Reconciled is set if the self cost was changed so that methods do not cost more than the CPU time of
	// their processes, or less than zero.
	Reconciled bool `json:"reconciled"`

	usdError *[2]float64 // distance of the interval's ends from SelfUSD, printed or not

	hiddenUSD *float64 // below resolution: the estimate of SelfUSD
	days      float64  // divisor for dollars per day
}

// Percentiles are in ns.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Service reconciles the self costs of its methods with the paid cores.
type Service struct {
	query.Service
	Instances int64 `json:"instances"`
	// MayBeMerged is set if some spans do not identify the process that sent them, so that several processes
	// may be counted as one.
	MayBeMerged bool `json:"processes_may_be_merged"`
	// GenericPrice is set if some of its processes use a public list price.
	GenericPrice bool `json:"generic_price"`
	// ObservedDays is the time from the first row of the service in the window to its last counts.
	ObservedDays   float64 `json:"observed_days"`
	USDPerDayBasis string  `json:"usd_per_day_basis,omitempty"`
	// CountedUntil is the end of the last counts or process row. PendingRecords counts measured calls that
	// started after the last counts of their process; PendingSince is the first of them. No figure includes
	// these calls or the process rows of that time, which arrive with the counts.
	CountedUntil   *time.Time `json:"counted_until"`
	PendingRecords int64      `json:"pending_records"`
	PendingSince   *time.Time `json:"pending_since,omitempty"`
	// Paid figures are the service's share of cores x time of the hosts that its processes ran on. Idle
	// figures are the part that no process used. Both are null where process rows lack the number of cores.
	PaidCoreHours *float64 `json:"paid_core_hours"`
	IdleCoreHours *float64 `json:"idle_core_hours"`
	PaidUSD       *float64 `json:"paid_usd"`
	IdleUSD       *float64 `json:"idle_usd"`
	// Process and unattributed figures are null where no process row has the CPU time of the processes.
	ProcessCoreHours      *float64 `json:"process_core_hours"`
	AttributedCoreHours   float64  `json:"attributed_core_hours"`
	UnattributedCoreHours *float64 `json:"unattributed_core_hours"`
	ProcessUSD            *float64 `json:"process_usd"`
	AttributedUSD         float64  `json:"attributed_usd"`
	UnattributedUSD       *float64 `json:"unattributed_usd"`
	// BelowResolutionCoreHours and BelowResolutionUSD are the part of the attributed figures in lines below
	// resolution, which print no figure.
	BelowResolutionCoreHours float64 `json:"below_resolution_core_hours"`
	BelowResolutionUSD       float64 `json:"below_resolution_usd"`
	// SDKCoreHours estimates the part of the process figures that the SDK used for its probes and requests;
	// null where not all process rows contain it.
	SDKCoreHours *float64 `json:"sdk_core_hours"`
	SDKUSD       *float64 `json:"sdk_usd"`
	// DoubleCoreHours is zero or negative. CPU time of callees of a method without measured CPU is also in
	// the self costs of that method's callers, and is subtracted here.
	DoubleCoreHours float64 `json:"double_core_hours"`
	DoubleUSD       float64 `json:"double_usd"`
	// Reconciled is set if the estimated sum of self costs, MeasuredCoreHours, exceeded the CPU time of the
	// processes or was below the certain part of single methods.
	Reconciled        bool    `json:"reconciled"`
	MeasuredCoreHours float64 `json:"measured_core_hours,omitempty"`
	// Owned are the parts of the attributed figures by owner, the unowned part last. Set only if there is an
	// owners file.
	Owned []OwnedCost `json:"owned,omitempty"`
	// UnpricedCoreHours is the process CPU (or, without process rows, the self CPU) without a known price.
	// Dollars leave it out. UnpricedPaidCoreHours is the unpriced part of the paid core hours.
	UnpricedCoreHours     float64 `json:"unpriced_core_hours"`
	UnpricedPaidCoreHours float64 `json:"unpriced_paid_core_hours"`
	// UnmeasuredCalls were counted on dates on which their method was not timed. Their cost is unattributed.
	UnmeasuredCalls float64 `json:"unmeasured_calls"`
	// MissingCalls is the part of the EmittedCalls of its processes, on the dates of the window, that is not
	// stored. The figures lack their cost. Not computed in BigQuery.
	MissingCalls int64 `json:"missing_calls,omitempty"`
	EmittedCalls int64 `json:"emitted_calls,omitempty"`
	// AssumedCalls counts calls of spans without a sampling probability. Their number is a lower bound.
	AssumedCalls float64 `json:"assumed_calls"`
	// Requests estimates the calls that no measured method made.
	Requests float64 `json:"requests"`
	// UnknownCallerCoreHours is the time of calls whose caller is unknown and cannot be inferred. The self
	// costs of their callers are too high by it.
	UnknownCallerCoreHours float64 `json:"unknown_caller_core_hours"`

	// Hosts counts process intervals by the rule that assigns them cores.
	Hosts Hosts `json:"hosts"`

	// coreless of the intervals of processes lack the number of cores, so that the bill is only a lower
	// bound.
	coreless, intervals int64
	leastPaidUSD        float64
	leastCoreHours      float64 // the part that is certain for single methods
	basis               perday.Basis
}

// AboveProcess reports whether the methods were estimated to cost more than the CPU time of the processes.
func (s *Service) AboveProcess() bool { return s.Reconciled && s.MeasuredCoreHours >= s.leastCoreHours }

// Excess describes the estimate of a reconciled service. It is empty for others.
func (s *Service) Excess() string {
	if !s.Reconciled {
		return ""
	}
	if !s.AboveProcess() {
		return fmt.Sprintf("self costs of %s were estimated at %s core-h in all, less than the %s that is sure of single methods: no call was timed that contains most others, or they do not run within it; those below zero are set to zero",
			s.Name, output.Amount(s.MeasuredCoreHours), output.Amount(s.leastCoreHours))
	}
	without := ""
	if s.SDKCoreHours != nil {
		without = " without probes and sending"
	}
	return fmt.Sprintf("self costs of %s were estimated at %s core-h in all, more than its process CPU of %s%s, and are reconciled with it",
		s.Name, output.Amount(s.MeasuredCoreHours), output.Amount(s.methodsCPU()), without)
}

// Hosts counts intervals of processes by the available data about their hosts.
type Hosts struct {
	Intervals int64 `json:"process_intervals"`
	// ByProcess lack the host or its cores: each process pays its own cores x time.
	ByProcess int64 `json:"by_process"`
	// ByName have the name of their host but no id: hosts of one name count as one.
	ByName int64 `json:"by_host_name"`
	// Limited pay the CPU limit of their container and count as the only process there.
	Limited int64 `json:"by_cpu_limit"`
}

// OwnedCost is the part of one owner. An empty Owner is the unowned part.
type OwnedCost struct {
	Owner     string  `json:"owner"`
	CoreHours float64 `json:"core_hours"`
	USD       float64 `json:"usd"`
}
