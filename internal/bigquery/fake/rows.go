package fake

import (
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// MethodRows turns stored rows back into what was written; equal resources are
// not shared.
func MethodRows(rows []Row) []methodspan.Row {
	out := make([]methodspan.Row, len(rows))
	for i, r := range rows {
		out[i] = methodRow(r)
	}
	return out
}

func methodRow(r Row) methodspan.Row {
	m := methodspan.Row{
		Resource: &methodspan.Resource{
			ServiceNamespace: get[string](r, "service_namespace"), Service: get[string](r, "service"),
			Version: get[string](r, "version"), Revision: get[string](r, "revision"),
			Environment: get[string](r, "environment"), Instance: get[string](r, "instance"),
			Host: get[string](r, "host"), HostID: get[string](r, "host_id"), HostType: get[string](r, "host_type"),
			CloudProvider: get[string](r, "cloud_provider"), Region: get[string](r, "region"),
			CapacityType: get[string](r, "capacity_type"), ProcessStartNS: get[int64](r, "process_start_ns"),
		},
		Kind: get[string](r, "kind"), Level: get[string](r, "level"),
		StartNS: get[int64](r, "start_ns"), EndNS: get[int64](r, "end_ns"),
		Class: get[string](r, "class"), Method: get[string](r, "method"), Signature: get[string](r, "signature"),
		Caller: get[string](r, "caller"), Stack: get[string](r, "stack"), Group: get[string](r, "goroutine_group"),
		Calls: get[float64](r, "calls"), Measured: get[int64](r, "measured"),
		CPUMeasured: get[int64](r, "cpu_measured"), Errors: get[float64](r, "errors"),
		WallNS: get[int64](r, "wall_ns"), CPUNS: get[int64](r, "cpu_ns"),
		WallSq: get[float64](r, "wall_sq"), CPUSq: get[float64](r, "cpu_sq"),
		WallMaxNS: get[int64](r, "wall_max_ns"), CPUMaxNS: get[int64](r, "cpu_max_ns"),
		WallHist: histogram(r["wall_hist"]), CPUHist: histogram(r["cpu_hist"]),
		P: get[float64](r, "p"), CPUP: get[float64](r, "cpu_p"), Stratum: get[string](r, "stratum"),
		ConfiguredRate: get[float64](r, "configured_rate"), EffectiveRate: get[float64](r, "effective_rate"),
		Tier: get[string](r, "tier"), Reason: get[string](r, "reason"),
		WeightBasis: get[string](r, "weight_basis"), CPUState: get[string](r, "cpu_state"),
		PriceSource: get[string](r, "price_source"), RequestID: get[string](r, "request_id"),
		BatchID: get[string](r, "batch_id"), RowSeq: int32(get[int64](r, "row_seq")),
	}
	if usd, ok := r["usd_per_core_hour"].(float64); ok {
		m.USDPerCoreHour = &usd
	}
	copy(m.TraceID[:], get[[]byte](r, "trace_id"))
	copy(m.SpanID[:], get[[]byte](r, "span_id"))
	copy(m.ParentSpanID[:], get[[]byte](r, "parent_span_id"))
	if final, ok := r["final"].(bool); ok {
		m.Process = &methodspan.ProcessStats{
			Cores: get[float64](r, "cores"), HostCores: get[float64](r, "host_cores"), CPULimit: get[float64](r, "cpu_limit"),
			RSSBytes: get[int64](r, "rss_bytes"), CallsTotal: get[int64](r, "calls_total"), Final: final,
		}
		list, _ := r["sdk_stats"].([]any)
		for _, e := range list {
			m.Process.Stats = append(m.Process.Stats, methodspan.Stat{Name: get[string](e.(Row), "name"), Value: get[float64](e.(Row), "value")})
		}
	}
	return m
}

func histogram(v any) (h methodspan.Histogram) {
	list, _ := v.([]any)
	for _, e := range list {
		h = append(h, methodspan.Bin{Bin: int32(get[int64](e.(Row), "bin")), N: get[float64](e.(Row), "n")})
	}
	return h
}

func get[T any](r Row, name string) (v T) {
	v, _ = r[name].(T)
	return v
}

// Day is the partition of a row.
func Day(r Row) time.Time {
	t, _ := time.Parse(time.DateOnly, get[string](r, "event_date"))
	return t
}
