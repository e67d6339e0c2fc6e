package parquet

import "github.com/corehour/corehour/internal/methodspan"

// record is one row as the file holds it: the columns of the table
// method_calls, by name and type. A column that is optional holds NULL for
// unknown; where zero is a value of its own the field is a pointer.
type record struct {
	EventDate        int32    `parquet:"event_date,date"`
	Kind             string   `parquet:"kind,dict"`
	Level            string   `parquet:"level,dict"`
	StartNS          int64    `parquet:"start_ns,delta"`
	EndNS            int64    `parquet:"end_ns,delta"`
	ServiceNamespace string   `parquet:"service_namespace,optional,dict"`
	Service          string   `parquet:"service,optional,dict"`
	Version          string   `parquet:"version,optional,dict"`
	Revision         string   `parquet:"revision,optional,dict"`
	Environment      string   `parquet:"environment,optional,dict"`
	Instance         string   `parquet:"instance,optional,dict"`
	Host             string   `parquet:"host,optional,dict"`
	HostType         string   `parquet:"host_type,optional,dict"`
	CloudProvider    string   `parquet:"cloud_provider,optional,dict"`
	Region           string   `parquet:"region,optional,dict"`
	CapacityType     string   `parquet:"capacity_type,optional,dict"`
	Class            string   `parquet:"class,optional,dict"`
	Method           string   `parquet:"method,optional,dict"`
	Signature        string   `parquet:"signature,optional,dict"`
	Caller           string   `parquet:"caller,optional,dict"`
	Stack            string   `parquet:"stack,optional,dict"`
	Group            string   `parquet:"goroutine_group,optional,dict"`
	Calls            float64  `parquet:"calls,dict"`
	Measured         int64    `parquet:"measured,dict"`
	CPUMeasured      int64    `parquet:"cpu_measured,dict"`
	Errors           float64  `parquet:"errors,dict"`
	WallNS           *int64   `parquet:"wall_ns,optional"`
	CPUNS            *int64   `parquet:"cpu_ns,optional"`
	WallSq           *float64 `parquet:"wall_sq,optional"`
	CPUSq            *float64 `parquet:"cpu_sq,optional"`
	WallMaxNS        *int64   `parquet:"wall_max_ns,optional"`
	CPUMaxNS         *int64   `parquet:"cpu_max_ns,optional"`
	WallHist         []bin    `parquet:"wall_hist,optional,list"`
	CPUHist          []bin    `parquet:"cpu_hist,optional,list"`
	P                float64  `parquet:"p,optional,dict"`
	CPUP             float64  `parquet:"cpu_p,optional,dict"`
	Stratum          string   `parquet:"stratum,optional,dict"`
	ConfiguredRate   float64  `parquet:"configured_rate,optional,dict"`
	EffectiveRate    float64  `parquet:"effective_rate,optional,dict"`
	Tier             string   `parquet:"tier,optional,dict"`
	Reason           string   `parquet:"reason,optional,dict"`
	WeightBasis      string   `parquet:"weight_basis,optional,dict"`
	CPUState         string   `parquet:"cpu_state,optional,dict"`
	USDPerCoreHour   *float64 `parquet:"usd_per_core_hour,optional,dict"`
	PriceSource      string   `parquet:"price_source,optional,dict"`
	ProcessStartNS   int64    `parquet:"process_start_ns,optional,dict"`
	Cores            *float64 `parquet:"cores,optional,dict"`
	RSSBytes         *int64   `parquet:"rss_bytes,optional,dict"`
	CallsTotal       *int64   `parquet:"calls_total,optional,dict"`
	Final            *bool    `parquet:"final,optional"`
	SDKStats         []stat   `parquet:"sdk_stats,optional,list"`
	TraceID          [16]byte `parquet:"trace_id,optional"`
	SpanID           [8]byte  `parquet:"span_id,optional"`
	ParentSpanID     [8]byte  `parquet:"parent_span_id,optional"`
	RequestID        string   `parquet:"request_id,optional,dict"`
	BatchID          string   `parquet:"batch_id,optional,dict"`
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

// unknown stands for the resource of a row that has none.
var unknown methodspan.Resource

// fill sets the record to the row.
func (c *record) fill(r *methodspan.Row) {
	res := r.Resource
	if res == nil {
		res = &unknown
	}
	*c = record{
		EventDate: r.EventDay(), Kind: r.Kind, Level: r.Level, StartNS: r.StartNS, EndNS: r.EndNS,
		ServiceNamespace: res.ServiceNamespace, Service: res.Service, Version: res.Version,
		Revision: res.Revision, Environment: res.Environment, Instance: res.Instance,
		Host: res.Host, HostType: res.HostType, CloudProvider: res.CloudProvider,
		Region: res.Region, CapacityType: res.CapacityType, ProcessStartNS: res.ProcessStartNS,
		Class: r.Class, Method: r.Method, Signature: r.Signature, Caller: r.Caller,
		Stack: r.Stack, Group: r.Group,
		Calls: r.Calls, Measured: r.Measured, CPUMeasured: r.CPUMeasured, Errors: r.Errors,
		P: r.P, CPUP: r.CPUP, Stratum: r.Stratum, ConfiguredRate: r.ConfiguredRate,
		EffectiveRate: r.EffectiveRate, Tier: r.Tier, Reason: r.Reason, WeightBasis: r.WeightBasis,
		CPUState: r.CPUState, USDPerCoreHour: r.USDPerCoreHour, PriceSource: r.PriceSource,
		TraceID: r.TraceID, SpanID: r.SpanID, ParentSpanID: r.ParentSpanID,
		RequestID: r.RequestID, BatchID: r.BatchID, RowSeq: r.RowSeq,
	}
	c.WallNS, c.WallSq, c.WallMaxNS = quantity(r.Measured, &r.WallNS, &r.WallSq, &r.WallMaxNS)
	c.CPUNS, c.CPUSq, c.CPUMaxNS = quantity(r.CPUMeasured, &r.CPUNS, &r.CPUSq, &r.CPUMaxNS)
	for _, b := range r.WallHist {
		c.WallHist = append(c.WallHist, bin(b))
	}
	for _, b := range r.CPUHist {
		c.CPUHist = append(c.CPUHist, bin(b))
	}
	if p := r.Process; p != nil {
		c.Cores, c.RSSBytes, c.CallsTotal, c.Final = &p.Cores, &p.RSSBytes, &p.CallsTotal, &p.Final
		for _, s := range p.Stats {
			c.SDKStats = append(c.SDKStats, stat(s))
		}
	}
}

// quantity decides which columns of one measured quantity are known: nothing
// where nothing was measured, no squares and no maximum where they follow from
// the one value.
func quantity(measured int64, sum *int64, squares *float64, maximum *int64) (*int64, *float64, *int64) {
	if measured <= 0 {
		return nil, nil, nil
	}
	if measured > 1 {
		return sum, squares, maximum
	}
	if *squares == 0 {
		squares = nil
	}
	if *maximum == 0 {
		maximum = nil
	}
	return sum, squares, maximum
}

// row is the inverse of fill; resources are shared among equal rows.
func (c *record) row(resources map[methodspan.Resource]*methodspan.Resource) methodspan.Row {
	res := methodspan.Resource{
		ServiceNamespace: c.ServiceNamespace, Service: c.Service, Version: c.Version,
		Revision: c.Revision, Environment: c.Environment, Instance: c.Instance,
		Host: c.Host, HostType: c.HostType, CloudProvider: c.CloudProvider,
		Region: c.Region, CapacityType: c.CapacityType, ProcessStartNS: c.ProcessStartNS,
	}
	shared := resources[res]
	if shared == nil {
		shared = &res
		resources[res] = shared
	}
	r := methodspan.Row{
		Resource: shared, Kind: c.Kind, Level: c.Level, StartNS: c.StartNS, EndNS: c.EndNS,
		Class: c.Class, Method: c.Method, Signature: c.Signature, Caller: c.Caller,
		Stack: c.Stack, Group: c.Group,
		Calls: c.Calls, Measured: c.Measured, CPUMeasured: c.CPUMeasured, Errors: c.Errors,
		WallNS: orZero(c.WallNS), WallSq: orZero(c.WallSq), WallMaxNS: orZero(c.WallMaxNS),
		CPUNS: orZero(c.CPUNS), CPUSq: orZero(c.CPUSq), CPUMaxNS: orZero(c.CPUMaxNS),
		P: c.P, CPUP: c.CPUP, Stratum: c.Stratum, ConfiguredRate: c.ConfiguredRate,
		EffectiveRate: c.EffectiveRate, Tier: c.Tier, Reason: c.Reason, WeightBasis: c.WeightBasis,
		CPUState: c.CPUState, USDPerCoreHour: c.USDPerCoreHour, PriceSource: c.PriceSource,
		TraceID: c.TraceID, SpanID: c.SpanID, ParentSpanID: c.ParentSpanID,
		RequestID: c.RequestID, BatchID: c.BatchID, RowSeq: c.RowSeq,
	}
	for _, b := range c.WallHist {
		r.WallHist = append(r.WallHist, methodspan.Bin(b))
	}
	for _, b := range c.CPUHist {
		r.CPUHist = append(r.CPUHist, methodspan.Bin(b))
	}
	if c.Final != nil {
		r.Process = &methodspan.ProcessStats{
			Cores: orZero(c.Cores), RSSBytes: orZero(c.RSSBytes), CallsTotal: orZero(c.CallsTotal), Final: *c.Final,
		}
		for _, s := range c.SDKStats {
			r.Process.Stats = append(r.Process.Stats, methodspan.Stat(s))
		}
	}
	return r
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
