package main

import (
	"cmp"
	"fmt"

	"github.com/corehour/corehour/internal/lake"
	"github.com/corehour/corehour/regression/output"
)

// actionNames are printed in text.
var actionNames = map[lake.Action]string{
	lake.Expire: "drop (age)", lake.Shed: "drop (disk)", lake.Hour: "add up by hour", lake.Minute: "add up by minute",
	lake.DropIDs: "leave ids out", lake.Merge: "merge", lake.Sum: "keep sums by hour", lake.NoSums: "drop sums by hour",
	lake.Delete: "delete service", lake.Relabel: "relabel service", lake.Damaged: "drop damaged files", lake.Mend: "drop impossible numbers",
}

func stepLine(s lake.Step) string {
	line := fmt.Sprintf("%s: %s: %d files, %d rows, %d bytes", s.Date, actionNames[s.Action], s.Files, s.Rows, s.Bytes)
	if s.Action == lake.Expire || s.Action == lake.Shed || s.Action == lake.Damaged {
		return line
	}
	return fmt.Sprintf("%s -> %d rows, %d bytes in %.1f s", line, s.OutRows, s.OutBytes, s.Seconds)
}

// compactReport is what maintenance did.
type compactReport struct {
	*lake.Report
	LeftAlone []skippedPrefix `json:"left_alone,omitempty"`
}

// mergeReport adds what was done in another prefix.
func (r *compactReport) mergeReport(more *lake.Report) {
	r.Steps = append(r.Steps, more.Steps...)
	r.Others = append(r.Others, more.Others...)
	r.Impossible = append(r.Impossible, more.Impossible...)
	r.Kept += more.Kept
	r.Hostless += more.Hostless
	r.Removed += more.Removed
	r.Bytes += more.Bytes
	r.Doomed += more.Doomed
}

// skippedPrefix is a prefix of a bucket that was not maintained.
type skippedPrefix struct {
	Prefix string `json:"prefix"`
	Reason string `json:"reason"`
}

func (l skippedPrefix) String() string { return "left alone: " + l.Reason }

func compactDocument(r *compactReport, c *compactCall) *output.Document {
	d := &output.Document{Data: struct {
		DryRun bool `json:"dry_run"`
		*compactReport
	}{c.job.DryRun, r}}
	switch {
	case len(r.Steps) == 0 && len(r.LeftAlone) > 0:
		d.Say("nothing to do elsewhere")
	case len(r.Steps) == 0:
		d.Say("nothing to do")
	case c.job.DryRun && c.needsYes():
		d.Say("nothing was done: say --yes to do it")
	case c.job.DryRun:
		d.Say("nothing was done: this is what is due")
	}
	d.Say(fmt.Sprintf("the warehouse has %d bytes, and %d in files that go when the grace of their readers is over; %d files of earlier runs were deleted",
		r.Bytes, r.Doomed, r.Removed))
	if r.Kept > 0 {
		d.Say(fmt.Sprintf("%d rows are not in sums, because their method has too many namespaces and environments on their date: they are as they were, without ids", r.Kept))
	}
	if r.Hostless > 0 {
		d.Say(fmt.Sprintf("%d rows of processes are in sums that do not name their host, because their date has more than 20,000 hosts: they are billed by process", r.Hostless))
	}
	for _, l := range r.LeftAlone {
		d.Say(l.String())
	}
	t := &output.Table{Columns: []string{"date", "step", "files", "rows", "bytes", "rows after", "bytes after"}}
	for _, s := range r.Steps {
		after, bytes := output.Whole(s.OutRows), output.Whole(s.OutBytes)
		if c.job.DryRun {
			after, bytes = output.Figure(unknown), output.Figure(unknown)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Figure(s.Date), output.Name(actionNames[s.Action]), output.Whole(int64(s.Files)), output.Whole(s.Rows), output.Whole(s.Bytes), after, bytes,
		})
	}
	if c.out == output.CSV { // which has nothing but its table
		for _, l := range r.LeftAlone {
			none := output.Figure(unknown)
			t.Rows = append(t.Rows, []output.Cell{none, output.Name(l.String()), none, none, none, none, none})
		}
	}
	if len(t.Rows) > 0 || c.out == output.CSV {
		d.Add(t)
	}
	if len(r.Impossible) > 0 && c.out != output.CSV {
		d.Add(impossibleTable(r.Impossible))
		if n := len(r.Impossible) - defaultTop; n > 0 {
			d.Say(fmt.Sprintf("%d more services in files: --format json lists them", n))
		}
	}
	return d
}

// impossibleTable lists where most of them are.
func impossibleTable(found []lake.Impossible) *output.Table {
	t := &output.Table{Title: "rows with numbers that cannot be true", Columns: []string{"file", "service", "environment", "rows"}}
	shown, _ := output.Most(found, defaultTop, func(a, b lake.Impossible) int { return cmp.Compare(b.Rows, a.Rows) })
	for _, i := range shown {
		service := i.Service
		if i.Namespace != "" {
			service = i.Namespace + "/" + service
		}
		t.Rows = append(t.Rows, []output.Cell{output.Name(i.File), output.Name(service), output.Name(i.Environment), output.Whole(i.Rows)})
	}
	return t
}
