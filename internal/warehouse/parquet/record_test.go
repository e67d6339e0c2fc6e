package parquet

// record is a row with the library's struct tags. The library reads and writes files of records for
// comparison. A field is a pointer if zero differs from NULL.
type record struct {
	EventDate        int32    `parquet:"event_date,date"`
	Kind             string   `parquet:"kind"`
	Level            string   `parquet:"level"`
	StartNS          int64    `parquet:"start_ns"`
	EndNS            *int64   `parquet:"end_ns,optional"` // NULL: see endFollows
	ServiceNamespace string   `parquet:"service_namespace,optional"`
	Service          string   `parquet:"service,optional"`
	Version          string   `parquet:"version,optional"`
	Revision         string   `parquet:"revision,optional"`
	Environment      string   `parquet:"environment,optional"`
	Instance         string   `parquet:"instance,optional"`
	Host             string   `parquet:"host,optional"`
	HostID           string   `parquet:"host_id,optional"`
	HostType         string   `parquet:"host_type,optional"`
	CloudProvider    string   `parquet:"cloud_provider,optional"`
	Region           string   `parquet:"region,optional"`
	CapacityType     string   `parquet:"capacity_type,optional"`
	Language         string   `parquet:"language,optional"`
	Class            string   `parquet:"class,optional"`
	Method           string   `parquet:"method,optional"`
	Signature        string   `parquet:"signature,optional"`
	Caller           string   `parquet:"caller,optional"`
	Stack            string   `parquet:"stack,optional"`
	Group            string   `parquet:"goroutine_group,optional"`
	Activated        *bool    `parquet:"activated,optional"`
	Calls            float64  `parquet:"calls"`
	Measured         int64    `parquet:"measured"`
	CPUMeasured      int64    `parquet:"cpu_measured"`
	Errors           float64  `parquet:"errors"`
	WallNS           *int64   `parquet:"wall_ns,optional"`
	CPUNS            *int64   `parquet:"cpu_ns,optional"`
	WallSq           *float64 `parquet:"wall_sq,optional"`
	CPUSq            *float64 `parquet:"cpu_sq,optional"`
	WallMaxNS        *int64   `parquet:"wall_max_ns,optional"`
	CPUMaxNS         *int64   `parquet:"cpu_max_ns,optional"`
	WallHist         []bin    `parquet:"wall_hist,optional,list"`
	CPUHist          []bin    `parquet:"cpu_hist,optional,list"`
	CPUWaits         *float64 `parquet:"cpu_waits,optional"`
	P                float64  `parquet:"p,optional"`
	CPUP             float64  `parquet:"cpu_p,optional"`
	Stratum          string   `parquet:"stratum,optional"`
	ConfiguredRate   float64  `parquet:"configured_rate,optional"`
	EffectiveRate    float64  `parquet:"effective_rate,optional"`
	Tier             string   `parquet:"tier,optional"`
	Reason           string   `parquet:"reason,optional"`
	WeightBasis      string   `parquet:"weight_basis,optional"`
	CPUState         string   `parquet:"cpu_state,optional"`
	USDPerCoreHour   *float64 `parquet:"usd_per_core_hour,optional"`
	PriceSource      string   `parquet:"price_source,optional"`
	ProcessStartNS   int64    `parquet:"process_start_ns,optional"`
	Cores            *float64 `parquet:"cores,optional"`
	HostCores        *float64 `parquet:"host_cores,optional"`
	CPULimit         *float64 `parquet:"cpu_limit,optional"`
	RSSBytes         *int64   `parquet:"rss_bytes,optional"`
	CallsTotal       *int64   `parquet:"calls_total,optional"`
	Final            *bool    `parquet:"final,optional"`
	SDKStats         []stat   `parquet:"sdk_stats,optional,list"`
	TraceID          [16]byte `parquet:"trace_id,optional"`
	SpanID           [8]byte  `parquet:"span_id,optional"`
	ParentSpanID     [8]byte  `parquet:"parent_span_id,optional"`
	RequestID        string   `parquet:"request_id,optional"`
	BatchID          string   `parquet:"batch_id,optional"`
	RowSeq           int32    `parquet:"row_seq"`
}

type bin struct {
	Bin int32   `parquet:"bin"`
	N   float64 `parquet:"n"`
}

type stat struct {
	Name  string  `parquet:"name"`
	Value float64 `parquet:"value"`
}
