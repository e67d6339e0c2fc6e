package methodspan

import "time"

// Resource is what all rows of one process share. Rows point to one Resource,
// so that it is read once per request and not once per span.
type Resource struct {
	ServiceNamespace string
	Service          string
	Version          string
	Revision         string
	Environment      string
	Instance         string
	Host             string
	HostID           string // see ReadResource
	HostType         string
	CloudProvider    string
	Region           string
	CapacityType     string
	ProcessStartNS   int64 // 0 = unknown
}

// Row is one row of the table method_calls. It is closed under addition (see
// Sum): a rollup of rows is a row.
//
// Zero stands for NULL in every optional column: an empty string is an unknown
// name, P = 0 is an unknown probability. The exceptions are CPUNS (NULL where
// CPUMeasured is 0) and USDPerCoreHour (nil = unpriced). WallSq, CPUSq and the
// histograms are absent where they follow from the sums, on rows of one record.
type Row struct {
	Resource *Resource
	Kind     string
	Level    string
	StartNS  int64 // Unix time; the event date is its UTC day
	EndNS    int64

	Class     string
	Method    string
	Signature string
	Caller    string // normalised class.method; "" = unknown
	Stack     string
	Group     string

	Calls       float64
	Measured    int64 // calls timed
	CPUMeasured int64 // calls whose CPU was timed
	Errors      float64
	WallNS      int64
	CPUNS       int64
	WallSq      float64 // sum of squares, ns^2
	CPUSq       float64
	WallMaxNS   int64
	CPUMaxNS    int64
	WallHist    Histogram
	CPUHist     Histogram

	P       float64 // probability after all stages that a call was timed
	CPUP    float64 // probability that its CPU was timed too, given that
	Stratum string

	ConfiguredRate float64
	EffectiveRate  float64
	Tier           string
	Reason         string
	WeightBasis    string
	CPUState       string
	USDPerCoreHour *float64
	PriceSource    string

	Process *ProcessStats // only on process rows

	TraceID      [16]byte
	SpanID       [8]byte
	ParentSpanID [8]byte
	RequestID    string

	BatchID string // the queue item this row travelled in
	RowSeq  int32  // its place there
}

// ProcessStats are the columns that only process rows have.
type ProcessStats struct {
	Cores float64
	// Summed: of a sum of rows, which has no more than Cores, in whose mean over the
	// time of the sum they were paid for as long as in the rows.
	Summed bool
	// HostCores are those of the host, of a sum too; CPULimit is the container's, in
	// cores, and summed as Cores are. 0 = not known, or no limit.
	HostCores, CPULimit float64

	RSSBytes   int64
	CallsTotal int64 // calls that this process has emitted in counts so far, or TotalNotGiven
	Final      bool
	Stats      []Stat
}

// TotalNotGiven stands for NULL in CallsTotal: zero is a total.
const TotalNotGiven = -1

// Stat is one of the SDK's own counters.
type Stat struct {
	Name  string
	Value float64
}

const nanosPerDay = int64(24 * time.Hour)

// EventDay is the partition of the row: days since the Unix epoch, UTC.
func (r *Row) EventDay() int32 { return EventDay(r.StartNS) }

// EventDay is the partition of rows that started at a time.
func EventDay(startNS int64) int32 {
	day := startNS / nanosPerDay
	if startNS%nanosPerDay < 0 {
		day--
	}
	return int32(day)
}

// Q is the probability that the row's CPU measurements were kept with, 0 where
// it is unknown or nothing was measured.
func (r *Row) Q() float64 { return r.P * r.CPUP }

// MaximumFollows reports whether a maximum is that of one value: it is not stored.
func MaximumFollows(measured, sum, maximum int64) bool {
	return measured == 1 && (maximum == 0 || maximum == sum)
}
