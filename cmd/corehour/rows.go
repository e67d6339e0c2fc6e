package main

import (
	"strconv"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

// What follows is for spreadsheets: plain figures without scientific notation, units in the names of columns,
// nothing where a figure is not known.

func plain(x float64) output.Cell { return output.Figure(strconv.FormatFloat(x, 'f', -1, 64)) }

func plainOr(x *float64) output.Cell {
	if x == nil {
		return output.Figure("")
	}
	return plain(*x)
}

func serviceCells(s query.Service) []output.Cell {
	return []output.Cell{output.Name(s.Namespace), output.Name(s.Name), output.Name(s.Environment)}
}

func costRows(r *cost.Table) *output.Document {
	t := &output.Table{Columns: []string{
		"from", "to", "observed_days", "service_namespace", "service", "environment", "version", "class", "method", "signature", "owner", "caller",
		"calls", "unmeasured_calls", "instances", "measured", "cpu_measured",
		"self_usd_per_day", "self_usd_per_month", "self_usd_per_call", "self_usd_per_request", "self_usd", "self_usd_se", "self_usd_low", "self_usd_high",
		"self_core_hours", "self_core_hours_se", "self_core_hours_low", "self_core_hours_high", "unpriced_core_hours", "share_of_process_cpu",
		"inclusive_core_hours", "inclusive_usd", "cpu_ns_per_call", "wall_ns_per_call", "error_share",
		"cpu_ns_p50", "cpu_ns_p95", "cpu_ns_p99", "wall_ns_p50", "wall_ns_p95", "wall_ns_p99", "lower_bound", "uncertain", "warning",
		"below_resolution", "resolution_ns", "reconciled", "group", "generic_price",
		"self_wall_hours", "self_wall_hours_se", "self_wall_hours_low", "self_wall_hours_high", "self_wall_clipped", "inclusive_wall_hours", "assumed_calls",
	}}
	lines := r.Lines()
	for i := range lines {
		l := &lines[i]
		row := []output.Cell{
			output.Figure(r.From.UTC().Format(time.RFC3339)), output.Figure(r.To.UTC().Format(time.RFC3339)), plain(r.ObservedDays),
		}
		row = append(append(row, serviceCells(l.Service)...),
			output.Name(l.Version), output.Name(l.Class), output.Name(l.Method), output.Name(l.Signature), output.Name(l.Owner), output.Name(l.Caller),
			plain(l.Calls), plain(l.UnmeasuredCalls), output.Whole(l.Instances), output.Whole(l.Measured), output.Whole(l.CPUMeasured),
			plainOr(l.SelfUSDPerDay), plainOr(l.SelfUSDPerMonth), plainOr(l.SelfUSDPerCall), plainOr(l.SelfUSDPerRequest), plainOr(l.SelfUSD), plainOr(l.SelfUSDSE))
		row = append(row, intervalCells(l.SelfUSDInterval, l.SelfUSDLeast)...)
		row = append(row, plainOr(l.SelfCoreHours), plainOr(l.SelfCoreHoursSE))
		row = append(row, intervalCells(l.SelfCoreHoursInterval, l.SelfCoreHoursLeast)...)
		row = append(row, plain(l.UnpricedCoreHours), plainOr(l.ShareOfProcessCPU), plainOr(l.InclusiveCoreHours), plainOr(l.InclusiveUSD),
			plainOr(l.CPUNSPerCall), plainOr(l.WallNSPerCall), plain(l.ErrorShare))
		for _, p := range []*cost.Percentiles{l.CPU, l.Wall} {
			if p == nil {
				row = append(row, output.Figure(""), output.Figure(""), output.Figure(""))
			} else {
				row = append(row, plain(p.P50), plain(p.P95), plain(p.P99))
			}
		}
		row = append(row, output.Figure(strconv.FormatBool(l.LowerBound)), output.Figure(strconv.FormatBool(l.Uncertain)), output.Figure(l.Warning),
			output.Figure(strconv.FormatBool(l.BelowResolution)), plain(l.ResolutionNS), output.Figure(strconv.FormatBool(l.Reconciled)), output.Name(l.Group), output.Figure(strconv.FormatBool(l.GenericPrice)),
			plainOr(l.SelfWallHours), plainOr(l.SelfWallHoursSE))
		row = append(row, intervalCells(l.SelfWallHoursInterval, nil)...)
		t.Rows = append(t.Rows, append(row, output.Figure(strconv.FormatBool(l.SelfWallClipped)), plainOr(l.InclusiveWallHours), plain(l.AssumedCalls)))
	}
	d := &output.Document{}
	d.Add(t)
	return d
}

// intervalCells are the ends of an interval, or a lower bound without an upper one.
func intervalCells(x *[2]float64, least *float64) []output.Cell {
	if x == nil {
		return []output.Cell{plainOr(least), output.Figure("")}
	}
	return []output.Cell{plain(x[0]), plain(x[1])}
}

func regressRows(f *findings) *output.Document {
	t := &output.Table{Columns: []string{
		"service_namespace", "service", "environment", "base_version", "head_version", "class", "method", "signature", "state", "metric", "basis",
		"change_percent", "low_percent", "high_percent", "base_ns_per_call", "head_ns_per_call",
		"base_records", "head_records", "base_clusters", "head_clusters", "usd_per_day",
		"measured_percent", "common_percent", "common_reason", "inclusive_percent",
	}}
	for _, c := range f.Comparisons {
		for i := range c.Methods {
			l := &c.Methods[i]
			low, high, base, head := output.Figure(""), output.Figure(""), output.Figure(""), output.Figure("")
			if l.Interval != nil {
				low, high = plain(l.Interval[0]), plain(l.Interval[1])
				base, head = plain(l.BaseNSPerCall), plain(l.HeadNSPerCall)
			}
			t.Rows = append(t.Rows, append(serviceCells(c.Service),
				output.Name(c.BaseVersion), output.Name(c.HeadVersion), output.Name(l.Class), output.Name(l.Method), output.Name(l.Signature),
				output.Figure(string(l.State)), output.Figure(string(l.Metric)), output.Figure(l.Basis),
				plainOr(l.ChangePercent), low, high, base, head,
				output.Whole(l.BaseRecords), output.Whole(l.HeadRecords), output.Whole(l.BaseClusters), output.Whole(l.HeadClusters),
				plainOr(usdOf(c.Alerts, l)),
				percentOf(l.Measured), percentOf(l.Common), output.Name(l.CommonReason), percentOf(l.Inclusive)))
		}
	}
	d := &output.Document{}
	d.Add(t)
	return d
}

func percentOf(p *verdict.Part) output.Cell {
	if p == nil {
		return output.Figure("")
	}
	return plain(p.Percent)
}

// usdOf is what the growth of a raised method costs a day.
func usdOf(alerts []alert.Alert, l *verdict.Line) *float64 {
	for _, a := range alerts {
		if a.Class == l.Class && a.Method == l.Method {
			return a.USDPerDay
		}
	}
	return nil
}
