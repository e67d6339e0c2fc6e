package evaluation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/drift"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// manyVerdicts is the maximum number of methods of a service that is printed in full.
const manyVerdicts = 30

// StateNames are the names of states in text output.
var StateNames = map[State]string{Confirmed: "DRIFT", Improved: "improved", Earlier: "earlier", NotProven: "~", TooLittleHistory: "too little history"}

// row is a line of a service.
type row struct {
	query.Service
	Metric         query.Metric `json:"metric"`
	LastEvaluation *string      `json:"last_look"`
	*Verdict
}

// Document returns the findings in a format. It lists the services with a finding, then the top of the others with
// the most records (0 = all). Lines without a significant change are left out if there are many. CSV contains
// all lines.
func (f *Evaluation) Document(v output.View) *output.Document {
	if v.Format == output.CSV {
		return f.records()
	}
	d := &output.Document{Data: f}
	var rows []row
	var notes []string
	shown, left := f.mostDrifted(v.Top)
	for _, s := range shown {
		for i := range s.Verdicts {
			if l := &s.Verdicts[i]; l.State.Proven() || len(s.Verdicts) <= manyVerdicts || v.Top == 0 {
				rows = append(rows, row{s.Service, s.Metric, s.LastEvaluation, l})
			}
		}
		notes = append(append(notes, s.summary(f.OfSeries)), s.limits()...)
	}
	notes = append(append(notes, left...), f.NotRaised()...)
	f.SayAlerts(d, v.Verbose)
	if len(rows) > 0 {
		d.Add(table(rows, f.OfSeries))
	}
	switch {
	case f.Confirmed():
	case f.CouldNotTell:
		notes = append([]string{"could not tell: no method has enough history"}, notes...)
	default:
		notes = append([]string{"no method became significantly more expensive over weeks"}, notes...)
	}
	d.Say(notes...)
	return d
}

// mostDrifted returns the services with a finding, the top of the others, and a line about the rest.
func (f *Evaluation) mostDrifted(top int) (shown []*Service, more []string) {
	found, records := map[*Service]int{}, map[*Service]int64{}
	for _, s := range f.Services {
		for i := range s.Verdicts {
			if records[s] += s.Verdicts[i].Records; s.Verdicts[i].State.Proven() {
				found[s] = 1
			}
		}
	}
	if top > 0 {
		top += len(found)
	}
	shown, left := output.Most(f.Services, top, func(a, b *Service) int {
		return cmp.Or(cmp.Compare(found[b], found[a]), cmp.Compare(records[b], records[a]))
	})
	methods, judged := 0, 0
	for _, s := range left {
		methods, judged = methods+s.Methods, judged+s.Judged
	}
	return shown, output.More(len(left), fmt.Sprintf("services without a finding, of %d methods, %d with enough history", methods, judged))
}

// table returns a table of rows; rows of series have no service.
func table(rows []row, series bool) *output.Table {
	difference := func(x float64) string { return fmt.Sprintf("%+.3g", x) }
	var c output.Columns[row]
	method := "series"
	if !series {
		method = "method"
		c.Plain("service", "environment")
	}
	c.Name(method, (*row).method)
	c.Name("verdict", func(r *row) string { return StateNames[r.State] })
	c.Name("since", func(r *row) string {
		if r.Since == nil {
			return output.Unknown
		}
		return *r.Since
	})
	c.Figure("change", func(r *row) string {
		if r.Difference != nil {
			return difference(*r.Difference)
		}
		return output.Known(r.ChangePercent, output.Change)
	})
	c.Figure("95% interval", func(r *row) string {
		if r.Difference != nil {
			return output.Interval(r.DifferenceInterval, difference)
		}
		return output.Interval(r.Interval, output.Change)
	})
	c.Name("shape", func(r *row) string { return cmp.Or(string(r.Shape), output.Unknown) })
	c.Figure("p", func(r *row) string {
		return output.Known(r.P, func(p float64) string { return fmt.Sprintf("%.2g", p) })
	})
	c.Figure("detectable", func(r *row) string {
		if r.DetectablePercent != nil {
			return output.Change(*r.DetectablePercent)
		}
		return output.Known(r.DetectableDifference, func(x float64) string { return fmt.Sprintf("+%.3g", x) })
	})
	if !series {
		c.Plain("metric")
	}
	c.Plain("days")
	if !series {
		c.Plain("records")
		c.Name("owner", func(r *row) string { return cmp.Or(r.Owner, output.Unknown) })
	}
	t := c.Table(rows)
	t.Least = []string{"metric", "shape", "records", "p", "environment"}
	return t
}

func (r *row) method() string {
	if r.WholeService {
		return "whole service"
	}
	return query.FullName(r.Class, r.Method, r.Signature)
}

func (s *Service) summary(series bool) string {
	what := fmt.Sprintf("%s: %s time of %d methods", s.Service, s.Metric, s.Methods)
	if series {
		what = fmt.Sprintf("%d series", s.Methods)
	}
	last := "no evaluation yet"
	if s.LastEvaluation != nil {
		last = fmt.Sprintf("%d daily evaluations, the last of %s", s.Evaluations, *s.LastEvaluation)
	}
	return fmt.Sprintf("%s, %d with enough history; days from %s to %s; %s", what, s.Judged, s.From, s.To, last)
}

// limits returns notes on weaknesses of the evidence for a service.
func (s *Service) limits() (notes []string) {
	short, few, reasons := 0, 0, map[string]int{}
	for i := range s.Verdicts {
		l := &s.Verdicts[i]
		if l.ShortHistory {
			short++
		}
		if l.FewRecords {
			few++
		}
		if l.CommonReason != "" {
			reasons[l.CommonReason]++
		}
	}
	if short > 0 {
		notes = append(notes, fmt.Sprintf("  %d with fewer than 42 of 56 days: less power, see detectable", short))
	}
	if few > 0 {
		notes = append(notes, fmt.Sprintf("  %d with fewer than %d records on most days: more evidence is required", few, drift.FewRecords))
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		notes = append(notes, fmt.Sprintf("  the common part was not subtracted from %d: %s", reasons[reason], reason))
	}
	if s.AssumedShare > 0 {
		notes = append(notes, "  "+alert.AtLeast(s.AssumedShare))
	}
	if s.NoRowsSince != "" {
		notes = append(notes, fmt.Sprintf("  no rows since %s: no drift is current", s.NoRowsSince))
	}
	if s.Missing != "" {
		notes = append(notes, "  "+s.Missing)
	}
	return notes
}

// records returns the findings as rows for spreadsheets.
func (f *Evaluation) records() *output.Document {
	var rows []row
	for _, s := range f.Services {
		for i := range s.Verdicts {
			rows = append(rows, row{s.Service, s.Metric, s.LastEvaluation, &s.Verdicts[i]})
		}
	}
	d := &output.Document{Data: f}
	d.Add(output.Records(rows,
		"service_namespace", "service", "environment", "class", "method", "signature", "whole_service", "owner", "metric", "state", "shape", "since", "told",
		"change_percent", "change_low=interval.0", "change_high=interval.1", "measured_change_percent", "detectable_percent", "p", "days", "records", "last_look",
	))
	return d
}
