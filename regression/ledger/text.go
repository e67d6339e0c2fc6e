package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/output"
)

// View holds the options of how accounts are shown.
type View struct {
	Top  int // number of services and of processes; 0 = all
	Zone *time.Location
	Now  time.Time
}

// Document returns the accounts as a document. Services and processes with the most missing calls come first, then
// those that emitted most.
func (r *Accounts) Document(format output.Format, v View) *output.Document {
	d := &output.Document{Data: r}
	d.Say(slices.Concat([]string{r.Verdict()}, r.rowNotes(v), r.Advice())...)
	if len(r.Warehouses) > 1 {
		d.Add(r.warehouseTable())
	}
	shown, more := r.Most(v.Top)
	d.Add(r.serviceTable(shown, format))
	d.Say(more...)
	for _, note := range r.Notes() {
		d.Say(note)
	}
	odd, others := r.NotInOrder(v.Top)
	if len(odd) > 0 {
		d.Add(r.processTable(odd, v.Zone))
	}
	d.Say(others...)
	if len(r.Losses.DeadProcess) > 0 {
		d.Say("calls of a dead process since its last row are unknown: at most one interval of counts")
	}
	d.Add(r.lossTable())
	return d
}

// rowNotes returns lines on the rows read and their freshness.
func (r *Accounts) rowNotes(v View) (lines []string) {
	if note := r.LeftOut(); note != "" {
		lines = append(lines, note)
	}
	rows := fmt.Sprintf("schema version %d, %d rows", r.SchemaVersion, r.Rows)
	if r.Files > 0 { // 0 in BigQuery
		rows = fmt.Sprintf("schema version %d, generation %d, %s, %s", r.SchemaVersion, r.Generation, output.Several(int64(r.Files), "file"), output.Several(r.Rows, "row"))
	}
	if r.FreshnessP99Seconds != nil {
		rows += fmt.Sprintf("; 99%% of rows committed within %.1f s of their end", *r.FreshnessP99Seconds)
	} else {
		rows += "; how soon after their end they were committed is not known"
	}
	lines = append(lines, rows)
	if r.FreshnessNote != "" {
		lines = append(lines, "freshness: "+r.FreshnessNote)
	}
	if r.NewestRow != nil {
		age := max(0, v.Now.Sub(*r.NewestRow)).Round(time.Second)
		lines = append(lines, fmt.Sprintf("the newest row ended at %s, %s ago", output.Time(*r.NewestRow, v.Zone), age))
	}
	return lines
}

func (r *Accounts) serviceTable(shown []Service, format output.Format) *output.Table {
	emitted := "emitted"
	if format == output.CSV { // CSV columns keep their names
		emitted = "handed out"
	}
	var c output.Columns[Service]
	c.Plain("service", "environment", "processes", "dead=dead_processes", emitted+"=handed_out_calls", "stored=counted_calls", "lost_in_transit")
	if r.Losses.NotJudgedCalls > 0 {
		c.Plain("not judged=not_judged_calls")
	}
	c.Plain("foreign rows=foreign_rows")
	c.Figure("unpriced rows", func(s *Service) string { return output.PercentOf(&s.UnpricedShare) })
	c.Plain("rows without version=versionless_rows")
	return c.Table(shown)
}

func (r *Accounts) processTable(shown []Process, zone *time.Location) *output.Table {
	var c output.Columns[Process]
	c.Plain("service", "version", "instance", "state")
	c.Name("last seen", func(p *Process) string { return output.Time(p.LastSeen, zone) })
	c.Plain("emitted=handed_out_calls", "stored=counted_calls", "lost_in_transit")
	if r.Losses.NotJudgedCalls > 0 {
		c.Plain("not judged=not_judged_calls")
	}
	if slices.ContainsFunc(r.Processes, func(p Process) bool { return p.MissingBatches != nil }) {
		c.Name("missing", func(p *Process) string {
			if p.MissingBatches == nil {
				return ""
			}
			return p.MissingBatches.String()
		})
	}
	t := c.Table(shown)
	t.Title = "processes that need attention"
	return t
}

func (r *Accounts) warehouseTable() *output.Table {
	var c output.Columns[Warehouse]
	c.Plain("warehouse", "generation", "files", "rows")
	c.Name("99% committed within", func(w *Warehouse) string {
		if w.FreshnessP99Seconds == nil {
			return "not known"
		}
		return fmt.Sprintf("%.1f s", *w.FreshnessP99Seconds)
	})
	t := c.Table(r.Warehouses)
	t.Title = "warehouses"
	return t
}

func (r *Accounts) lossTable() *output.Table {
	var c output.Columns[Loss]
	c.Name("where", func(l *Loss) string { return l.Where })
	c.Name("what", func(l *Loss) string { return l.What })
	c.Figure("how much", func(l *Loss) string { return output.Count(l.Amount) })
	t := c.Table(r.Losses.List())
	t.Title = "losses and overflows"
	return t
}
