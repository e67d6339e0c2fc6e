package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/parquet"
	"github.com/corehour/corehour/regression/cost"
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
	excess, err := reconciled(ctx, w, c.common, r)
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

// reconciled computes costs and notes the services whose methods were estimated to cost more
// than their processes used: their probes need attention.
func reconciled(ctx context.Context, w *query.Warehouse, c *common, r *ledger.Accounts) (lines []string, err error) {
	if !w.InFiles() { // each query is paid for
		return nil, nil
	}
	costs, err := cost.Compute(ctx, w, cost.Options{Filter: c.filter, Window: c.window, Now: now(), NoTails: true})
	if err != nil {
		return nil, err
	}
	r.Reconciled = []ledger.Reconciled{}
	for i := range costs.Services {
		if s := &costs.Services[i]; s.Reconciled {
			r.Reconciled = append(r.Reconciled, ledger.Reconciled{Service: s.Service, MeasuredCoreHours: s.MeasuredCoreHours, ProcessCoreHours: *s.ProcessCoreHours})
			lines = append(lines, s.Excess())
		}
	}
	return lines, nil
}

func checkVerdict(r *ledger.Accounts) string {
	switch {
	case r.CouldNotTell:
		return "could not tell: " + r.Why()
	case !r.Balanced:
		return "NOT BALANCED: " + strings.Join(r.Faults, "; ")
	}
	return "balanced: every emitted call is stored once"
}

// checkDocument prints the top services and processes (0 = all) that most calls are missing of, then
// those that emitted most.
func checkDocument(r *ledger.Accounts, c *common, top int) *output.Document {
	d := &output.Document{Data: r}
	lines := []string{checkVerdict(r)}
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
		lines = append(lines, fmt.Sprintf("the newest row ended at %s, %s ago", showTime(*r.NewestRow, c.zone), age))
	}
	d.Say(append(lines, elsewhereAdvice(r)...)...)
	if len(r.Warehouses) > 1 {
		d.Add(warehousesTable(r))
	}

	notJudged := func(n int64) []output.Cell {
		if r.Losses.NotJudgedCalls == 0 {
			return nil
		}
		return []output.Cell{output.Whole(n)}
	}
	var notJudgedColumn []string
	if r.Losses.NotJudgedCalls > 0 {
		notJudgedColumn = []string{"not judged"}
	}
	emitted := "emitted"
	if c.out == output.CSV { // where columns keep their names
		emitted = "handed out"
	}
	services := &output.Table{Columns: slices.Concat(
		[]string{"service", "environment", "processes", "dead", emitted, "stored", "lost_in_transit"}, notJudgedColumn,
		[]string{"foreign rows", "unpriced rows", "rows without version"},
	)}
	shown, more := r.Most(top)
	for _, s := range shown {
		services.Rows = append(services.Rows, slices.Concat([]output.Cell{
			output.Name(s.Name), output.Name(s.Environment), output.Whole(int64(s.Processes)), output.Whole(int64(s.DeadProcesses)),
			output.Whole(s.HandedOutCalls), output.Whole(s.CountedCalls), output.Whole(s.LostInTransit),
		}, notJudged(s.NotJudgedCalls), []output.Cell{
			output.Whole(s.ForeignRows), output.Figure(percent(&s.UnpricedShare)), output.Whole(s.VersionlessRows),
		}))
	}
	d.Add(services)
	if more != "" {
		d.Say(more)
	}
	var notes []string
	for _, s := range r.Services {
		if s.ConflictingBatches > 0 {
			notes = append(notes, fmt.Sprintf("conflict: %s: %d batches came with a number that other content of their process came with: two processes have one "+
				"instance id and start, or another client sends in their name; all are stored", s.Service, s.ConflictingBatches))
		}
		if s.ImpossibleRows > 0 {
			notes = append(notes, fmt.Sprintf("impossible: %s: %d rows have impossible numbers, which are read as missing, or start in the future and are not read", s.Service, s.ImpossibleRows))
		}
		if s.MeasuredAboveCounted > 0 {
			notes = append(notes, fmt.Sprintf("measured above counted: %s: %.0f measurements more than the calls that their processes counted: counts are missing or in another warehouse, "+
				"or a process measured calls that it did not make", s.Service, s.MeasuredAboveCounted))
		}
		if s.AssumedCalls > 0 {
			notes = append(notes, cost.AssumedNote(s.Service, s.AssumedCalls))
		}
		if s.MayBeMerged {
			notes = append(notes, cost.MergedNote(s.Service))
		}
	}
	for _, note := range cost.Few(notes) {
		d.Say(note)
	}

	odd := &output.Table{
		Title:   "processes that need attention",
		Columns: append([]string{"service", "version", "instance", "state", "last seen", "emitted", "stored", "lost_in_transit"}, notJudgedColumn...),
	}
	batches := slices.ContainsFunc(r.Processes, func(p ledger.Process) bool { return p.MissingBatches != nil })
	if batches {
		odd.Columns = append(odd.Columns, "missing")
	}
	notInOrder, others := r.NotInOrder(top)
	for _, p := range notInOrder {
		cells := append([]output.Cell{
			output.Name(p.Name), output.Name(p.Version), output.Name(p.Instance), output.Name(string(p.State)), output.Name(showTime(p.LastSeen, c.zone)),
			output.Whole(p.HandedOutCalls), output.Whole(p.CountedCalls), output.Whole(p.LostInTransit),
		}, notJudged(p.NotJudgedCalls)...)
		if batches {
			missing := ""
			if p.MissingBatches != nil {
				missing = p.MissingBatches.String()
			}
			cells = append(cells, output.Name(missing))
		}
		odd.Rows = append(odd.Rows, cells)
	}
	if len(odd.Rows) > 0 {
		d.Add(odd)
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

// elsewhereAdvice returns where missing calls may be found.
func elsewhereAdvice(r *ledger.Accounts) []string {
	one := len(r.Warehouses) == 1
	moved := slices.ContainsFunc(r.Losses.DeadProcess, func(d ledger.DeadProcess) bool { return d.KnowsOthers })
	proxied := slices.ContainsFunc(r.Processes, func(p ledger.Process) bool { return p.LostInTransit > 0 && p.MissingBatches != nil })
	switch {
	case r.Losses.NotJudgedCalls > 0 && one:
		return []string{"pass the other --warehouse too: corehour check --warehouse A --warehouse B"}
	case r.Losses.NotJudgedCalls > 0:
		return []string{"pass the --warehouse of every collector that these processes may send to"}
	case moved && one:
		return []string{"a process that is dead here may have moved to another collector: pass the other --warehouse too"}
	case proxied && one:
		return []string{"if a proxy spreads requests over several collectors, pass the other --warehouse too"}
	}
	return nil
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
	line := func(where, what string, n float64) {
		t.Rows = append(t.Rows, []output.Cell{output.Name(where), output.Name(what), output.Figure(wholeNumber(n))})
	}
	line("ledger", "lost_in_transit", float64(r.Losses.LostInTransit))
	if n := r.Losses.NotJudgedCalls; n > 0 {
		line("ledger", "not_judged", float64(n))
	}
	line("ledger", "over_counted", float64(r.Losses.OverCounted))
	line("ledger", "dead_process", float64(len(r.Losses.DeadProcess)))
	line("warehouse", "duplicate_rows", float64(r.Losses.DuplicateRows))
	for _, name := range slices.Sorted(maps.Keys(r.Losses.SDK)) {
		if v := r.Losses.SDK[name]; v != 0 {
			line("sdk", name, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Losses.Collector)) {
		if v := r.Losses.Collector[name]; v != 0 || strings.Contains(name, "write_unknown") {
			line("collector", name, v)
		}
	}
	return t
}
