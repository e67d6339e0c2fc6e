package main

import (
	"cmp"
	"fmt"

	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/regression/output"
)

// actionNames are the names of actions in text output.
var actionNames = map[maintain.Action]string{
	maintain.Expire: "drop (age)", maintain.Shed: "drop (disk)", maintain.Hour: "roll up by hour", maintain.Minute: "roll up by minute",
	maintain.DropIDs: "drop ids", maintain.Merge: "merge", maintain.Sum: "write hourly rollup", maintain.NoSums: "drop hourly rollup",
	maintain.Delete: "delete service", maintain.Relabel: "relabel service", maintain.Damaged: "drop damaged files", maintain.Mend: "drop impossible numbers",
}

func stepLine(s maintain.Step) string {
	line := fmt.Sprintf("%s: %s: %d files, %d rows, %d bytes", s.Date, actionNames[s.Action], s.Files, s.Rows, s.Bytes)
	if s.Action == maintain.Expire || s.Action == maintain.Shed || s.Action == maintain.Damaged {
		return line
	}
	return fmt.Sprintf("%s -> %d rows, %d bytes in %.1f s", line, s.OutRows, s.OutBytes, s.Seconds)
}

// compactReport is the result of maintenance.
type compactReport struct {
	*maintain.Result
	LeftAlone []skippedPrefix `json:"left_alone,omitempty"`
}

// skippedPrefix is a prefix of a bucket that was not maintained.
type skippedPrefix struct {
	Prefix string `json:"prefix"`
	Reason string `json:"reason"`
}

func (l skippedPrefix) String() string { return "skipped: " + l.Reason }

func compactDocument(r *compactReport, c *compactCall) *output.Document {
	d := &output.Document{Data: struct {
		DryRun bool `json:"dry_run"`
		*compactReport
	}{c.job.DryRun, r}}
	switch {
	case len(r.Steps) == 0 && len(r.LeftAlone) > 0:
		d.Say("nothing to do in other prefixes")
	case len(r.Steps) == 0:
		d.Say("nothing to do")
	case c.job.DryRun && c.needsYes():
		d.Say("dry run: nothing was changed; give --yes to apply")
	case c.job.DryRun:
		d.Say("dry run: nothing was changed; this is due")
	}
	d.Say(fmt.Sprintf("the warehouse has %d bytes, and %d in replaced files that are deleted after ten minutes; %d replaced files were deleted",
		r.Bytes, r.Doomed, r.Removed))
	if r.Kept > 0 {
		d.Say(fmt.Sprintf("%d rows were not rolled up, because their method has too many namespaces and environments on that day: they stay as they were, without ids", r.Kept))
	}
	if r.Hostless > 0 {
		d.Say(fmt.Sprintf("%d rows of processes were rolled up without their host, because that day has more than 20,000 hosts: they are billed by process", r.Hostless))
	}
	for _, l := range r.LeftAlone {
		d.Say(l.String())
	}
	t := stepTable(r.Steps, c.job.DryRun)
	if c.out == output.CSV { // CSV has only the table
		for _, l := range r.LeftAlone {
			none := output.Figure(output.Unknown)
			t.Rows = append(t.Rows, []output.Cell{none, output.Name(l.String()), none, none, none, none, none})
		}
	}
	if len(t.Rows) > 0 || c.out == output.CSV {
		d.Add(t)
	}
	if len(r.Impossible) > 0 && c.out != output.CSV {
		d.Add(impossibleTable(r.Impossible))
		if n := len(r.Impossible) - defaultTop; n > 0 {
			d.Say(fmt.Sprintf("%d more: --format json lists them", n))
		}
	}
	return d
}

func stepTable(steps []maintain.Step, dryRun bool) *output.Table {
	var c output.Columns[maintain.Step]
	c.Figure("date", func(s *maintain.Step) string { return s.Date })
	c.Name("step", func(s *maintain.Step) string { return actionNames[s.Action] })
	c.Plain("files", "rows", "bytes")
	if dryRun {
		unknown := func(*maintain.Step) string { return output.Unknown }
		c.Figure("rows after", unknown)
		c.Figure("bytes after", unknown)
	} else {
		c.Plain("rows after=out_rows", "bytes after=out_bytes")
	}
	return c.Table(steps)
}

// impossibleTable lists the files with most impossible numbers.
func impossibleTable(found []maintain.Impossible) *output.Table {
	var c output.Columns[maintain.Impossible]
	c.Plain("file")
	c.Name("service", func(i *maintain.Impossible) string {
		if i.Namespace == "" {
			return i.Service
		}
		return i.Namespace + "/" + i.Service
	})
	c.Plain("environment", "rows")
	shown, _ := output.Most(found, defaultTop, func(a, b maintain.Impossible) int { return cmp.Compare(b.Rows, a.Rows) })
	t := c.Table(shown)
	t.Title = "rows with impossible numbers"
	return t
}
