package cost

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/perday"
	"github.com/corehour/corehour/regression/query"
)

// Table is what `corehour cost` prints. Units are in the names.
type Table struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// RowsBy is the level of rows, hour or minute, that the window would have cut: it
	// was widened to whole ones. Empty where it would not.
	RowsBy string `json:"rows_by,omitempty"`
	// ObservedDays is the longest of those of the services, each of which has its own:
	// figures per day are figures of the window divided by them. A month has 365/12 days.
	ObservedDays float64 `json:"observed_days"`
	// LastRow is the end of the last row.
	LastRow time.Time `json:"last_row"`
	// Instances and Records (measured calls) are what the figures rest on.
	Instances int64       `json:"instances"`
	Records   int64       `json:"records"`
	By        []Dimension `json:"by"`
	// Methods are the lines if By is the method, else Groups are.
	Methods  []Line    `json:"methods"`
	Groups   []Line    `json:"groups,omitempty"`
	Services []Service `json:"services"`
	// Edges are what methods paid for their callees in CPU time.
	Edges []query.CostEdge `json:"-"`
}

// Lines are the lines, whatever they are by.
func (r *Table) Lines() []Line {
	if r.Groups != nil {
		return r.Groups
	}
	return r.Methods
}

// Line is a method or a group of methods. Parts that it was not added up by are
// empty. CPU figures are null where no CPU was measured, dollars where nothing has
// a price.
type Line struct {
	query.Service
	Version   string `json:"version,omitempty"`
	Class     string `json:"class"`
	Method    string `json:"method"`
	Signature string `json:"signature,omitempty"`
	Owner     string `json:"owner,omitempty"`
	Caller    string `json:"caller,omitempty"`
	// Group is the goroutine group: (none) of calls without one, (unknown) of calls that were
	// only counted and of rows that were added up, (other) of groups beyond the first 100.
	Group string `json:"group,omitempty"`

	Calls           float64 `json:"calls"`
	UnmeasuredCalls float64 `json:"unmeasured_calls"`
	Instances       int64   `json:"instances"`
	Measured        int64   `json:"measured"`
	CPUMeasured     int64   `json:"cpu_measured"`
	ErrorShare      float64 `json:"error_share"`
	// PendingRecords are measured calls whose counts have not arrived: no figure holds them.
	PendingRecords int64 `json:"pending_records"`
	// AssumedCalls are of spans of which nothing says how they were sampled: calls are at least
	// as many as they are said to be.
	AssumedCalls float64 `json:"assumed_calls"`
	// Requests are calls that nothing measured made, in the services that the line
	// has a part in: what came from outside. An estimate.
	Requests float64 `json:"requests"`

	WallNSPerCall *float64 `json:"wall_ns_per_call"`
	CPUNSPerCall  *float64 `json:"cpu_ns_per_call"` // with callees; of methods only

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
	// Least are what a line with LowerBound costs at least, the lower ends of intervals of
	// 99%. The figures above are the estimates, which may be above the truth.
	SelfCoreHoursLeast *float64 `json:"self_core_hours_least,omitempty"`
	SelfUSDLeast       *float64 `json:"self_usd_least,omitempty"`
	// GenericPrice is set where a service of the line is priced by a public list price.
	GenericPrice bool `json:"generic_price"`
	// UnpricedCoreHours is the part of SelfCoreHours that has no price.
	UnpricedCoreHours float64 `json:"unpriced_core_hours"`
	// ShareOfProcessCPU is SelfCoreHours as a share of the CPU time of the processes
	// of all services that it has a part in.
	ShareOfProcessCPU *float64 `json:"share_of_process_cpu"`

	// Inclusive figures nest. They leave out calls from inside of the group.
	InclusiveCoreHours *float64 `json:"inclusive_core_hours"`
	InclusiveUSD       *float64 `json:"inclusive_usd"`

	// Wall time of all calls, of lines of services of which no CPU was measured; null of others,
	// and by goroutine group. Self is without the calls they made, and too little where
	// these ran at the same time or longer than they did: Clipped is set where it would be below zero.
	SelfWallHours         *float64    `json:"self_wall_hours"`
	SelfWallHoursSE       *float64    `json:"self_wall_hours_se"`
	SelfWallHoursInterval *[2]float64 `json:"self_wall_hours_interval"`
	SelfWallClipped       bool        `json:"self_wall_clipped"`
	InclusiveWallHours    *float64    `json:"inclusive_wall_hours"`

	// Wall and CPU are how long calls take, within 1%; of methods only, if asked
	// for.
	Wall *Percentiles `json:"wall_ns,omitempty"`
	CPU  *Percentiles `json:"cpu_ns,omitempty"`

	// LowerBound is set where so few calls were measured, of times so skew, that those
	// that cost most may be missing: there is no interval, only what the line costs at
	// least. Warning says it in words.
	LowerBound bool   `json:"lower_bound"`
	Warning    string `json:"warning,omitempty"`
	// Uncertain is set where the standard error is above 30% of the self cost,
	// or unknown callers of other methods could change it by as much. Why says
	// which.
	Uncertain bool   `json:"uncertain"`
	Why       string `json:"why,omitempty"`

	// BelowResolution is set where the own cost is not larger than what is not known of the
	// probes in it: the self figures are null, and ResolutionNS is the upper end of the 95%
	// interval of a call. Elsewhere it is what is not known of the probes of a call.
	BelowResolution bool    `json:"below_resolution"`
	ResolutionNS    float64 `json:"resolution_ns"`
	// Reconciled is set where the self cost was changed so that methods do not cost more than
	// the CPU time of their processes, or less than nothing.
	Reconciled bool `json:"reconciled"`

	usdError *[2]float64 // how far the interval of SelfUSD goes, printed or not

	hiddenUSD *float64 // below resolution: what SelfUSD was estimated at
	days      float64  // that dollars are scaled to a day by
}

// Percentiles in ns.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Service says how the methods' self costs add up to what is paid.
type Service struct {
	query.Service
	Instances int64 `json:"instances"`
	// MayBeMerged is set where it is not known of some spans which process sent them, so that several
	// processes may be taken for one.
	MayBeMerged bool `json:"processes_may_be_merged"`
	// GenericPrice is set where some of its processes are priced by a public list price.
	GenericPrice bool `json:"generic_price"`
	// ObservedDays is the part of the window of which it is known what the service spent.
	ObservedDays   float64 `json:"observed_days"`
	USDPerDayBasis string  `json:"usd_per_day_basis,omitempty"`
	// CountedUntil is the end of the last counts or process row. PendingRecords are measured
	// calls that started after the last counts of their process, PendingSince the first of
	// them: no figure holds them, nor the process rows of that time, which come with the counts.
	CountedUntil   *time.Time `json:"counted_until"`
	PendingRecords int64      `json:"pending_records"`
	PendingSince   *time.Time `json:"pending_since,omitempty"`
	// Paid is the service's share of cores x time of the hosts that its processes ran on,
	// idle what of it no process used; null where process rows do not say how many cores
	// there are.
	PaidCoreHours *float64 `json:"paid_core_hours"`
	IdleCoreHours *float64 `json:"idle_core_hours"`
	PaidUSD       *float64 `json:"paid_usd"`
	IdleUSD       *float64 `json:"idle_usd"`
	// Process and unattributed figures are null where no process row says how
	// much CPU the processes used.
	ProcessCoreHours      *float64 `json:"process_core_hours"`
	AttributedCoreHours   float64  `json:"attributed_core_hours"`
	UnattributedCoreHours *float64 `json:"unattributed_core_hours"`
	ProcessUSD            *float64 `json:"process_usd"`
	AttributedUSD         float64  `json:"attributed_usd"`
	UnattributedUSD       *float64 `json:"unattributed_usd"`
	// BelowResolutionCoreHours are the part of the attributed figures that is in lines below resolution,
	// which print none.
	BelowResolutionCoreHours float64 `json:"below_resolution_core_hours"`
	BelowResolutionUSD       float64 `json:"below_resolution_usd"`
	// SDKCoreHours are the part of the process figures that the SDK took for its probes and
	// requests, about; null where not all process rows say it.
	SDKCoreHours *float64 `json:"sdk_core_hours"`
	SDKUSD       *float64 `json:"sdk_usd"`
	// DoubleCoreHours is below zero or zero: CPU of methods that were called by one
	// whose own CPU was not measured is in the self costs of that one's callers too.
	DoubleCoreHours float64 `json:"double_core_hours"`
	DoubleUSD       float64 `json:"double_usd"`
	// Reconciled is set where the self costs of methods, MeasuredCoreHours, were estimated to be more
	// than the CPU time of the processes, or less than what is sure of single methods.
	Reconciled        bool    `json:"reconciled"`
	MeasuredCoreHours float64 `json:"measured_core_hours,omitempty"`
	// Owned are the parts of the attributed figures by owner, the unowned one last;
	// only where a file says who owns what.
	Owned []OwnedCost `json:"owned,omitempty"`
	// UnpricedCoreHours are process CPU (or, without process rows, self CPU)
	// that no price is known for; dollars leave it out. UnpricedPaidCoreHours are
	// the same of what is paid.
	UnpricedCoreHours     float64 `json:"unpriced_core_hours"`
	UnpricedPaidCoreHours float64 `json:"unpriced_paid_core_hours"`
	// UnmeasuredCalls were counted on dates on which their method was not timed; what
	// they cost is in the unattributed line.
	UnmeasuredCalls float64 `json:"unmeasured_calls"`
	// MissingCalls are of the EmittedCalls of its processes, on the dates of the window, and are
	// not stored: figures lack what they cost. Not looked for in BigQuery.
	MissingCalls int64 `json:"missing_calls,omitempty"`
	EmittedCalls int64 `json:"emitted_calls,omitempty"`
	// AssumedCalls are of spans of which nothing says how they were sampled: there are at least
	// that many.
	AssumedCalls float64 `json:"assumed_calls"`
	// Requests are calls that nothing measured made, an estimate.
	Requests float64 `json:"requests"`
	// UnknownCallerCoreHours were spent in calls whose caller is not known and
	// can't be inferred: too much self cost of the methods that called them.
	UnknownCallerCoreHours float64 `json:"unknown_caller_core_hours"`

	// Hosts say by what rules the intervals of its processes are paid.
	Hosts Hosts `json:"hosts"`

	// Of the intervals of processes so many do not say how many cores there were, so
	// that what is paid is known from below only.
	coreless, intervals int64
	leastPaidUSD        float64
	leastCoreHours      float64 // what is sure of single methods
	basis               perday.Basis
}

// AboveProcess reports whether methods were estimated to cost more than the CPU time of the processes.
func (s *Service) AboveProcess() bool { return s.Reconciled && s.MeasuredCoreHours >= s.leastCoreHours }

// Excess says of a service that was reconciled what its methods were estimated at; empty of
// others.
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

// Hosts counts intervals of processes, by what is known of their hosts.
type Hosts struct {
	Intervals int64 `json:"process_intervals"`
	// ByProcess say no host, or not its cores: each process pays its own cores x time.
	ByProcess int64 `json:"by_process"`
	// ByName say the name of their host and no id: hosts of one name are taken for one.
	ByName int64 `json:"by_host_name"`
	// Limited pay the limit of their container, taken for the only process there.
	Limited int64 `json:"by_cpu_limit"`
}

// OwnedCost is the part of one owner; an empty owner is nobody.
type OwnedCost struct {
	Owner     string  `json:"owner"`
	CoreHours float64 `json:"core_hours"`
	USD       float64 `json:"usd"`
}
