package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/drift"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

var driftNames = map[evaluation.State]string{evaluation.Confirmed: "DRIFT", evaluation.Improved: "improved", evaluation.Earlier: "earlier", evaluation.NotProven: "~", evaluation.TooLittleHistory: "too little history"}

func driftName(l *evaluation.Line) string {
	if l.WholeService {
		return "whole service"
	}
	return query.FullName(l.Class, l.Method, l.Signature)
}

// driftDocument prints the services with a finding and the top of the others (0 = all), those of
// which most was measured; what is not proven only where the lines are few.
func driftDocument(f *evaluation.Findings, top int) *output.Document {
	d := &output.Document{Data: f}
	t := &output.Table{Least: []string{"metric", "shape", "records", "p", "environment"}, Columns: []string{"service", "environment", "method", "verdict", "since", "change", "95% interval", "shape", "p", "detectable", "metric", "days", "records", "owner"}}
	if f.OfSeries {
		t.Columns = []string{"series", "verdict", "since", "change", "95% interval", "shape", "p", "detectable", "days"}
	}
	var notes []string
	drifts := 0
	shown, left := mostDrifted(f, top)
	for _, s := range shown {
		for i := range s.Lines {
			l := &s.Lines[i]
			if l.State == evaluation.Confirmed {
				drifts++
			}
			if l.State.Proven() || len(s.Lines) <= manyLines || top == 0 {
				t.Rows = append(t.Rows, driftCells(l, s, f.OfSeries))
			}
		}
		notes = append(append(notes, driftSummary(s, f.OfSeries)), driftLimits(s)...)
		if s.AssumedShare > 0 {
			notes = append(notes, "  "+alert.AtLeast(s.AssumedShare))
		}
		if s.NoRowsSince != "" {
			notes = append(notes, fmt.Sprintf("  no rows since %s: no drift is current", s.NoRowsSince))
		}
		if s.Missing != "" {
			notes = append(notes, "  "+s.Missing)
		}
	}
	notes = append(notes, left...)
	for i := range f.Alerts {
		d.Say(alertLines(&f.Alerts[i])...)
	}
	if len(t.Rows) > 0 {
		d.Add(t)
	}
	switch {
	case drifts > 0:
	case f.CouldNotTell:
		notes = append([]string{"could not tell: no method has enough history"}, notes...)
	default:
		notes = append([]string{"no method became significantly more expensive over weeks"}, notes...)
	}
	d.Say(append(notes, acceptedAndMuted(f.Accepted, f.Silenced)...)...)
	return d
}

// mostDrifted are the services with a finding and the top of the others, and a line on the rest.
func mostDrifted(f *evaluation.Findings, top int) (shown []*evaluation.Service, more []string) {
	found, records := map[*evaluation.Service]int{}, map[*evaluation.Service]int64{}
	for _, s := range f.Services {
		for i := range s.Lines {
			if records[s] += s.Lines[i].Records; s.Lines[i].State.Proven() {
				found[s] = 1
			}
		}
	}
	if top > 0 {
		top += len(found)
	}
	shown, left := output.Most(f.Services, top, func(a, b *evaluation.Service) int {
		return cmp.Or(cmp.Compare(found[b], found[a]), cmp.Compare(records[b], records[a]))
	})
	if len(left) == 0 {
		return shown, nil
	}
	methods, judged := 0, 0
	for _, s := range left {
		methods, judged = methods+s.Methods, judged+s.Judged
	}
	return shown, []string{output.More(len(left), fmt.Sprintf("services without a finding, of %d methods, %d with enough history", methods, judged))}
}

func driftCells(l *evaluation.Line, s *evaluation.Service, series bool) []output.Cell {
	since, change, interval, shape, p, detectable, owner := output.Unknown, output.Unknown, output.Unknown, output.Unknown, output.Unknown, output.Unknown, output.Unknown
	if l.Since != nil {
		since = *l.Since
	}
	switch {
	case l.DetectablePercent != nil:
		detectable = fmt.Sprintf("+%.1f%%", *l.DetectablePercent)
	case l.DetectableDifference != nil:
		detectable = fmt.Sprintf("+%.3g", *l.DetectableDifference)
	}
	switch {
	case l.Difference != nil:
		change = fmt.Sprintf("%+.3g", *l.Difference)
		interval = fmt.Sprintf("%+.3g to %+.3g", l.DifferenceInterval[0], l.DifferenceInterval[1])
	case l.ChangePercent != nil:
		change = fmt.Sprintf("%+.1f%%", *l.ChangePercent)
		interval = fmt.Sprintf("%+.1f%% to %+.1f%%", l.Interval[0], l.Interval[1])
	}
	if l.P != nil {
		p, shape = fmt.Sprintf("%.2g", *l.P), string(l.Shape)
	}
	if l.Owner != "" {
		owner = l.Owner
	}
	found := []output.Cell{
		output.Name(driftName(l)), output.Name(driftNames[l.State]), output.Name(since), output.Figure(change), output.Figure(interval), output.Name(shape), output.Figure(p), output.Figure(detectable),
	}
	if series {
		return append(found, output.Whole(int64(l.Days)))
	}
	return slices.Concat([]output.Cell{output.Name(s.Name), output.Name(s.Environment)}, found,
		[]output.Cell{output.Name(string(s.Metric)), output.Whole(int64(l.Days)), output.Whole(l.Records), output.Name(owner)})
}

func driftSummary(s *evaluation.Service, series bool) string {
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

// driftLimits are what the evidence of a service lacks.
func driftLimits(s *evaluation.Service) (notes []string) {
	short, few, reasons := 0, 0, map[string]int{}
	for i := range s.Lines {
		l := &s.Lines[i]
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
	return notes
}

// driftRows is for spreadsheets.
func driftRows(f *evaluation.Findings) *output.Document {
	type record struct {
		query.Service
		Metric         query.Metric `json:"metric"`
		LastEvaluation *string      `json:"last_look"`
		*evaluation.Line
	}
	var records []record
	for _, s := range f.Services {
		for i := range s.Lines {
			records = append(records, record{s.Service, s.Metric, s.LastEvaluation, &s.Lines[i]})
		}
	}
	d := &output.Document{Data: f}
	d.Add(output.Records(records,
		"service_namespace", "service", "environment", "class", "method", "signature", "whole_service", "owner", "metric", "state", "shape", "since", "told",
		"change_percent", "change_low=interval.0", "change_high=interval.1", "measured_change_percent", "detectable_percent", "p", "days", "records", "last_look",
	))
	return d
}
