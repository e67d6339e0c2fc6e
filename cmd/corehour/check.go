package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/parquet"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// checkedInBucket is how far back check reads a bucket by default.
const checkedInBucket = 48 * time.Hour

// checkCommand are the flags of check in addition to the common ones.
type checkCommand struct {
	*common
	collector string
	deep      bool
	top       topFlags
}

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Check that every counted call is stored, and how fresh",
		Long: `Checks that every call a process emitted is in exactly one stored row of counts. It names what is
missing (lost_in_transit), dead processes, and services whose methods were estimated to cost more than
their processes used. Time flags choose processes seen in that time (default: all; in a bucket the
last 48h); a running process may have calls in flight. Give --warehouse once for each collector that
a process may send to. See docs/operations.md.`,
		Example: `  corehour check --since 24h
  corehour check --deep --collector http://localhost:8888/metrics
  corehour check --warehouse /srv/a --warehouse /srv/b`,
		Annotations: exits("0 balanced: every call is stored once\n1 not balanced\n2 failed\n3 unknown: no data, no account, or calls that another warehouse may hold"),
	}
	c := &checkCommand{common: newCommon(cmd, "")}
	c.several = true
	c.flags.Lookup("warehouse").Usage += "; once for each collector that a process may send to"
	c.flags.StringVar(&c.collector, "collector", "", "`URL` of the collector's Prometheus metrics, to add its own counters of losses")
	c.flags.BoolVar(&c.deep, "deep", false, "compare every file with its checksum first, also those compared before; in a bucket, if no time is given, all files")
	c.top.declare(c.flags, "how many services and processes to print; json and csv have all of them")
	return withWork(cmd, c.checkWarehouses)
}

func (c *checkCommand) checkWarehouses(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	c.notices = stderr
	if err := c.checkFlags(c.noArguments, func() error { return c.top.check(c.flags) }); err != nil {
		return exitFailed, err
	}
	if slices.ContainsFunc(c.warehouses(), query.IsBucket) && c.window == (query.Window{}) && !c.deep {
		c.window.From = now().Add(-checkedInBucket)
	}
	if c.deep {
		c.verified = parquet.NewVerifiedFiles("")
	}
	w, err := c.open(ctx, c.window, query.WithSums())
	if err != nil {
		return exitFailed, err
	}
	defer w.Close()
	if c.deep {
		if err := w.Verify(ctx); err != nil {
			return exitFailed, err
		}
	}
	at := now()
	if !c.window.To.IsZero() && c.window.To.Before(at) {
		at = c.window.To
	}
	r, err := ledger.Check(ctx, w, c.filter, at)
	if err != nil {
		return exitFailed, err
	}
	if len(r.Services) == 0 {
		return exitFailed, c.nothing(ctx, w)
	}
	if c.collector != "" {
		if r.Losses.Collector, err = ledger.Collector(ctx, c.collector); err != nil {
			return exitFailed, err
		}
	}
	d := checkDocument(r, c.common, c.top.lines)
	excess, err := r.Reconcile(ctx, w, c.filter, c.window, now())
	switch {
	case ctx.Err() != nil:
		return exitFailed, ctx.Err()
	case errors.Is(err, parquet.ErrCorrupt):
		return exitFailed, err
	case err != nil: // the ledger stands without it
		d.Say(fmt.Sprintf("services whose costs were reduced to their CPU time are not known: %v", err))
	case len(excess) > 0:
		d.Say(excess...)
	}
	if err := c.write(stdout, d); err != nil {
		return exitFailed, err
	}
	switch {
	case r.Balanced:
		return exitNothing, nil
	case r.CouldNotTell:
		return exitCannotTell, nil
	}
	return exitFound, nil
}

// checkDocument prints the top services and processes (0 = all) that most calls are missing of, then
// those that emitted most.
func checkDocument(r *ledger.Accounts, c *common, top int) *output.Document {
	d := &output.Document{Data: r}
	lines := []string{r.Verdict()}
	if note := r.LeftOut(); note != "" {
		lines = append(lines, note)
	}
	rows := fmt.Sprintf("schema version %d, %d rows", r.SchemaVersion, r.Rows)
	if r.Files > 0 { // else in BigQuery
		rows = fmt.Sprintf("schema version %d, generation %d, %d files, %d rows", r.SchemaVersion, r.Generation, r.Files, r.Rows)
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
		age := max(0, now().Sub(*r.NewestRow)).Round(time.Second)
		lines = append(lines, fmt.Sprintf("the newest row ended at %s, %s ago", output.Time(*r.NewestRow, c.zone), age))
	}
	d.Say(append(lines, r.Advice()...)...)
	if len(r.Warehouses) > 1 {
		d.Add(warehousesTable(r))
	}

	emitted := "emitted"
	if c.out == output.CSV { // where columns keep their names
		emitted = "handed out"
	}
	var services output.Columns[ledger.Service]
	services.Name("service", func(s *ledger.Service) string { return s.Name })
	services.Name("environment", func(s *ledger.Service) string { return s.Environment })
	services.Whole("processes", func(s *ledger.Service) int64 { return int64(s.Processes) })
	services.Whole("dead", func(s *ledger.Service) int64 { return int64(s.DeadProcesses) })
	services.Whole(emitted, func(s *ledger.Service) int64 { return s.HandedOutCalls })
	services.Whole("stored", func(s *ledger.Service) int64 { return s.CountedCalls })
	services.Whole("lost_in_transit", func(s *ledger.Service) int64 { return s.LostInTransit })
	if r.Losses.NotJudgedCalls > 0 {
		services.Whole("not judged", func(s *ledger.Service) int64 { return s.NotJudgedCalls })
	}
	services.Whole("foreign rows", func(s *ledger.Service) int64 { return s.ForeignRows })
	services.Figure("unpriced rows", func(s *ledger.Service) string { return output.PercentOf(&s.UnpricedShare) })
	services.Whole("rows without version", func(s *ledger.Service) int64 { return s.VersionlessRows })
	shown, more := r.Most(top)
	d.Add(services.Table(shown))
	if more != "" {
		d.Say(more)
	}
	for _, note := range r.Notes() {
		d.Say(note)
	}

	odd, others := r.NotInOrder(top)
	if len(odd) > 0 {
		d.Add(processTable(r, odd, c.zone))
	}
	if others != "" {
		d.Say(others)
	}
	if len(r.Losses.DeadProcess) > 0 {
		d.Say("calls of a dead process since its last row are unknown: at most one interval of counts")
	}
	d.Add(lossTable(r))
	return d
}

func processTable(r *ledger.Accounts, shown []ledger.Process, zone *time.Location) *output.Table {
	var c output.Columns[ledger.Process]
	c.Name("service", func(p *ledger.Process) string { return p.Name })
	c.Name("version", func(p *ledger.Process) string { return p.Version })
	c.Name("instance", func(p *ledger.Process) string { return p.Instance })
	c.Name("state", func(p *ledger.Process) string { return string(p.State) })
	c.Name("last seen", func(p *ledger.Process) string { return output.Time(p.LastSeen, zone) })
	c.Whole("emitted", func(p *ledger.Process) int64 { return p.HandedOutCalls })
	c.Whole("stored", func(p *ledger.Process) int64 { return p.CountedCalls })
	c.Whole("lost_in_transit", func(p *ledger.Process) int64 { return p.LostInTransit })
	if r.Losses.NotJudgedCalls > 0 {
		c.Whole("not judged", func(p *ledger.Process) int64 { return p.NotJudgedCalls })
	}
	if slices.ContainsFunc(r.Processes, func(p ledger.Process) bool { return p.MissingBatches != nil }) {
		c.Name("missing", func(p *ledger.Process) string {
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

func warehousesTable(r *ledger.Accounts) *output.Table {
	t := &output.Table{Title: "warehouses", Columns: []string{"warehouse", "generation", "files", "rows", "99% committed within"}}
	for _, w := range r.Warehouses {
		fresh := "not known"
		if w.FreshnessP99Seconds != nil {
			fresh = fmt.Sprintf("%.1f s", *w.FreshnessP99Seconds)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(w.Warehouse), output.Whole(w.Generation), output.Whole(int64(w.Files)), output.Whole(w.Rows), output.Name(fresh),
		})
	}
	return t
}

func lossTable(r *ledger.Accounts) *output.Table {
	t := &output.Table{Title: "losses and overflows", Columns: []string{"where", "what", "how much"}}
	for _, l := range r.Losses.List() {
		t.Rows = append(t.Rows, []output.Cell{output.Name(l.Where), output.Name(l.What), output.Figure(output.Count(l.Amount))})
	}
	return t
}
