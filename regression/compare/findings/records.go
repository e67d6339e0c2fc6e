package findings

import (
	"slices"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
)

// row is a verdict with its alert.
type row struct {
	pairs.Row
	// Base and Head are nil if the method was not compared.
	Base *float64 `json:"base"`
	Head *float64 `json:"head"`
	// USD is the cost of the growth of a raised method per day.
	USD     *float64 `json:"usd_per_day"`
	generic bool     // USD uses a public list price
	id      string   // of the alert
}

// rowsOf returns a row for each method of a comparison.
func rowsOf(c *pairs.Comparison) (rows []row) {
	for _, r := range c.Rows() {
		out := row{Row: r, generic: c.GenericPrice}
		if r.Interval != nil {
			out.Base, out.Head = &r.BaseNSPerCall, &r.HeadNSPerCall
		}
		same := func(a alert.Alert) bool { return a.Class == r.Class && a.Method == r.Method }
		if i := slices.IndexFunc(c.Alerts, same); i >= 0 {
			out.USD, out.id = c.Alerts[i].USDPerDay, c.Alerts[i].ID
		}
		rows = append(rows, out)
	}
	return rows
}

// records returns all methods for spreadsheets, with units in the names of columns.
func (f *Findings) records() *output.Document {
	var rows []row
	for _, c := range f.Comparisons {
		rows = append(rows, rowsOf(c)...)
	}
	d := &output.Document{Data: f}
	d.Add(output.Records(rows,
		"service_namespace", "service", "environment", "base_version", "head_version", "class", "method", "signature", "state", "metric", "basis",
		"change_percent", "low_percent=interval.0", "high_percent=interval.1", "base_ns_per_call=base", "head_ns_per_call=head",
		"base_records", "head_records", "base_clusters", "head_clusters", "usd_per_day",
		"measured_percent=measured_change.percent", "common_percent=common_part.percent", "common_reason", "inclusive_percent=inclusive_change.percent",
	))
	return d
}
