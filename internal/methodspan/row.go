package methodspan

import "time"

// Resource holds the columns that all rows of one process share. Rows point to one Resource,
// which is read once per request.
type Resource struct {
	ServiceNamespace string `column:"service_namespace"`
	Service          string `column:"service"`
	Version          string `column:"version"`
	Revision         string `column:"revision"`
	Environment      string `column:"environment"`
	Instance         string `column:"instance"`
	Host             string `column:"host"`
	HostID           string `column:"host_id"` // see ParsedResource.Read
	HostType         string `column:"host_type"`
	CloudProvider    string `column:"cloud_provider"`
	Region           string `column:"region"`
	CapacityType     string `column:"capacity_type"`
	Language         string `column:"language"`
	ProcessStartNS   int64  `column:"process_start_ns"` // 0 = unknown
}

// Row is one row of the table method_calls. The sum of rows is a row too (see Sum).
//
// Zero stands for NULL in every optional column: an empty string is an unknown name, P = 0 is
// an unknown probability. The exceptions are CPUNS, which is NULL if CPUMeasured is 0, and
// USDPerCoreHour, where nil means unpriced. Rows of one record have no WallSq, CPUSq and
// histograms, which follow from their sums.
type Row struct {
	Resource *Resource
	Kind     string `column:"kind"`
	Level    string `column:"level"`
	StartNS  int64  `column:"start_ns"` // Unix time; the event date is its UTC day
	EndNS    int64  `column:"end_ns"`

	Class     string `column:"class"`
	Method    string `column:"method"`
	Signature string `column:"signature"`
	Caller    string `column:"caller"` // normalised class.method; "" = unknown
	Stack     string `column:"stack"`
	Group     string `column:"goroutine_group"`
	Activated bool   `column:"activated"` // less than a minute before; in a sum: true of all rows

	Calls       float64   `column:"calls"`
	Measured    int64     `column:"measured"`     // calls timed
	CPUMeasured int64     `column:"cpu_measured"` // calls whose CPU was timed
	Errors      float64   `column:"errors"`
	CPUWaits    float64   `column:"cpu_waits"` // during calls whose CPU was timed
	WallNS      int64     `column:"wall_ns"`
	CPUNS       int64     `column:"cpu_ns"`
	WallSq      float64   `column:"wall_sq"` // sum of squares, ns^2
	CPUSq       float64   `column:"cpu_sq"`
	WallMaxNS   int64     `column:"wall_max_ns"`
	CPUMaxNS    int64     `column:"cpu_max_ns"`
	WallHist    Histogram `column:"wall_hist"`
	CPUHist     Histogram `column:"cpu_hist"`

	P       float64 `column:"p"`     // probability that a call was timed, after all sampling stages
	CPUP    float64 `column:"cpu_p"` // probability that the CPU of a timed call was timed
	Stratum string  `column:"stratum"`

	ConfiguredRate float64  `column:"configured_rate"`
	EffectiveRate  float64  `column:"effective_rate"`
	Tier           string   `column:"tier"`
	Reason         string   `column:"reason"`
	WeightBasis    string   `column:"weight_basis"`
	CPUState       string   `column:"cpu_state"`
	USDPerCoreHour *float64 `column:"usd_per_core_hour"`
	PriceSource    string   `column:"price_source"`

	Process *ProcessStats // only on process rows

	TraceID      [16]byte `column:"trace_id"`
	SpanID       [8]byte  `column:"span_id"`
	ParentSpanID [8]byte  `column:"parent_span_id"`
	RequestID    string   `column:"request_id"`

	BatchID string `column:"batch_id"` // id of the Item
	RowSeq  int32  `column:"row_seq"`  // position in the Item
}

// ProcessStats holds the columns that only process rows have.
type ProcessStats struct {
	Cores float64 `column:"cores"`
	// Summed is true in a sum of rows, where Cores is the mean over the time of the sum, so
	// that cores times time is the same as in the rows.
	Summed bool
	// HostCores is the number of cores of the host, a maximum in sums. CPULimit is the
	// container's limit in cores, a mean in sums as Cores is. 0 = not known, or no limit.
	HostCores float64 `column:"host_cores"`
	CPULimit  float64 `column:"cpu_limit"`

	RSSBytes   int64  `column:"rss_bytes"`
	CallsTotal int64  `column:"calls_total"` // calls emitted in counts by this process so far, or TotalNotGiven
	Final      bool   `column:"final"`
	Stats      []Stat `column:"sdk_stats"`
}

// TotalNotGiven stands for NULL in CallsTotal: zero is a total.
const TotalNotGiven = -1

// Stat is one of the SDK's own counters.
type Stat struct {
	Name  string  `column:"name"`
	Value float64 `column:"value"`
}

const nanosPerDay = int64(24 * time.Hour)

// EventDay returns the partition of the row: days since the Unix epoch, UTC.
func (r *Row) EventDay() int32 { return EventDay(r.StartNS) }

// EventDay returns the partition of rows that start at startNS.
func EventDay(startNS int64) int32 {
	day := startNS / nanosPerDay
	if startNS%nanosPerDay < 0 {
		day--
	}
	return int32(day)
}

// Q returns the probability that the CPU of a call was timed, 0 if it is unknown or nothing
// was measured.
func (r *Row) Q() float64 { return r.P * r.CPUP }

// MaximumFollows reports whether the maximum follows from the sum of a single value, so that
// it is not stored.
func MaximumFollows(measured, sum, maximum int64) bool {
	return measured == 1 && (maximum == 0 || maximum == sum)
}
