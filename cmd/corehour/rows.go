package main

import (
	"strconv"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

// What follows is for spreadsheets: plain figures, units in the names of columns,
// nothing where a figure is not known.

func plain(x float64) output.Cell { return output.Figure(strconv.FormatFloat(x, 'g', -1, 64)) }

func plainOr(x *float64) output.Cell {
	if x == nil {
		return output.Figure("")
	}
	return plain(*x)
}

func serviceCells(s query.Service) []output.Cell {
	return []output.Cell{output.Name(s.Namespace), output.Name(s.Name), output.Name(s.Environment)}
}

func costRows(r *cost.Report) *output.Document {
	t := &output.Table{Columns: []string{
		"service_namespace", "service", "environment", "class", "method", "signature", "calls", "unmeasured_calls", "measured", "cpu_measured",
		"self_usd_per_day", "self_usd", "self_usd_se", "self_core_hours", "self_core_hours_se", "unpriced_core_hours", "share_of_process_cpu",
		"inclusive_core_hours", "inclusive_usd", "cpu_ns_per_call", "wall_ns_per_call", "error_share", "uncertain",
	}}
	for i := range r.Methods {
		m := &r.Methods[i]
		t.Rows = append(t.Rows, append(serviceCells(m.Service),
			output.Name(m.Class), output.Name(m.Method), output.Name(m.Signature),
			plain(m.Calls), plain(m.UnmeasuredCalls), output.Whole(m.Measured), output.Whole(m.CPUMeasured),
			plainOr(m.SelfUSDPerDay), plainOr(m.SelfUSD), plainOr(m.SelfUSDSE), plainOr(m.SelfCoreHours), plainOr(m.SelfCoreHoursSE),
			plain(m.UnpricedCoreHours), plainOr(m.ShareOfProcessCPU), plainOr(m.InclusiveCoreHours), plainOr(m.InclusiveUSD),
			plainOr(m.CPUNSPerCall), plainOr(m.WallNSPerCall), plain(m.ErrorShare), output.Figure(strconv.FormatBool(m.Uncertain))))
	}
	d := &output.Document{}
	d.Add(t)
	return d
}

func regressRows(f *findings) *output.Document {
	t := &output.Table{Columns: []string{
		"service_namespace", "service", "environment", "base_version", "head_version", "class", "method", "signature", "state", "metric", "basis",
		"change_percent", "low_percent", "high_percent", "base_ns_per_call", "head_ns_per_call",
		"base_records", "head_records", "base_clusters", "head_clusters", "usd_per_day",
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
				output.Figure(string(l.State)), output.Figure(string(c.Metric)), output.Figure(l.Basis),
				plainOr(l.ChangePercent), low, high, base, head,
				output.Whole(l.BaseRecords), output.Whole(l.HeadRecords), output.Whole(l.BaseClusters), output.Whole(l.HeadClusters),
				plainOr(usdOf(c.Alerts, l))))
		}
	}
	d := &output.Document{}
	d.Add(t)
	return d
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
