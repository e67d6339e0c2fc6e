package cost

import (
	"time"

	"github.com/corehour/corehour/regression/output"
)

// records returns all lines for spreadsheets, with units in the column names.
func (r *Table) records() *output.Document {
	type record struct {
		From         time.Time `json:"from"`
		To           time.Time `json:"to"`
		ObservedDays float64   `json:"observed_days"`
		*Line
	}
	var records []record
	lines := r.Lines()
	for i := range lines {
		records = append(records, record{r.From, r.To, r.ObservedDays, &lines[i]})
	}
	d := &output.Document{}
	d.Add(output.Records(records,
		"from", "to", "observed_days", "service_namespace", "service", "environment", "version", "class", "method", "signature", "owner", "caller",
		"calls", "unmeasured_calls", "instances", "measured", "cpu_measured",
		"self_usd_per_day", "self_usd_per_month", "self_usd_per_call", "self_usd_per_request", "self_usd", "self_usd_se",
		"self_usd_low=self_usd_interval.0|self_usd_least", "self_usd_high=self_usd_interval.1",
		"self_core_hours", "self_core_hours_se", "self_core_hours_low=self_core_hours_interval.0|self_core_hours_least", "self_core_hours_high=self_core_hours_interval.1",
		"unpriced_core_hours", "share_of_process_cpu", "inclusive_core_hours", "inclusive_usd", "cpu_ns_per_call", "wall_ns_per_call", "error_share",
		"cpu_ns_p50=cpu_ns.p50", "cpu_ns_p95=cpu_ns.p95", "cpu_ns_p99=cpu_ns.p99", "wall_ns_p50=wall_ns.p50", "wall_ns_p95=wall_ns.p95", "wall_ns_p99=wall_ns.p99",
		"lower_bound", "uncertain", "warning", "below_resolution", "resolution_ns", "reconciled", "group", "generic_price",
		"self_wall_hours", "self_wall_hours_se", "self_wall_hours_low=self_wall_hours_interval.0", "self_wall_hours_high=self_wall_hours_interval.1",
		"self_wall_clipped", "inclusive_wall_hours", "assumed_calls", "calls_se",
	))
	return d
}
