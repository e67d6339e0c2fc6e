package findings

import (
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// row is the CSV row of one method of a comparison.
type row struct {
	query.Service
	BaseVersion string `json:"base_version"`
	HeadVersion string `json:"head_version"`
	*evidence.Verdict
	// Base and Head are nil if the method was not compared.
	Base *float64 `json:"base"`
	Head *float64 `json:"head"`
	// USD is the cost of the growth of a raised method per day.
	USD     *float64 `json:"usd_per_day"`
	generic bool     // USD uses a public list price
	id      string   // ID of its alert
}

func rowOf(c *pairs.Comparison, l *evidence.Verdict) row {
	r := row{Service: c.Service, BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, Verdict: l, generic: c.GenericPrice}
	if l.Interval != nil {
		r.Base, r.Head = &l.BaseNSPerCall, &l.HeadNSPerCall
	}
	for _, a := range c.Alerts {
		if a.Class == l.Class && a.Method == l.Method {
			r.USD, r.id = a.USDPerDay, a.ID
			break
		}
	}
	return r
}

// records returns all methods for spreadsheets, with units in the names of columns.
func (f *Findings) records() *output.Document {
	var rows []row
	for _, c := range f.Comparisons {
		for i := range c.Methods {
			rows = append(rows, rowOf(c, &c.Methods[i]))
		}
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
