package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

const regressUsage = `Compares the newest version of each service and environment with the version last
seen before its first row: by time, never by the spelling of versions. A method is
raised if the weighted mean per call of its own time grew by more than --threshold
percent, both sides have --min-records measured calls, and the lower end of the 95%
interval of the change is above zero. Callers that are dearer only because of it are
named in its alert. CPU time is compared where both versions have it, else wall
time; every line says which. ~ marks a change that is not proven.

Exit codes: 0 nothing found, 1 a regression, 2 failed, 3 could not tell.

The severity of an alert: critical from 100 dollars a day or if the cost at least
doubled (lower end of the interval), warning from 10 dollars a day or +50%, else info.`

// What a change must be to be raised, unless flags say otherwise.
const (
	defaultThreshold  = 10 // percent
	defaultMinRecords = 100
)

// regressFlags are the flags of regress beside the common ones.
type regressFlags struct {
	*common
	options verdict.Options
	alerts  string
	every   string
	period  time.Duration
}

func runRegress(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	r := &regressFlags{common: newCommon("regress", "", regressUsage, "7d", stdout)}
	f := r.flags
	f.StringVar(&r.options.Base, "base", "", "`version` to compare with (default: the one before head)")
	f.StringVar(&r.options.Head, "head", "", "`version` to judge (default: the newest)")
	f.StringVar(&r.options.Metric, "metric", "", "cpu or wall (default: cpu where both versions have it, else wall)")
	f.Float64Var(&r.options.ThresholdPercent, "threshold", defaultThreshold, "`percent` that a change must be above")
	f.Int64Var(&r.options.MinRecords, "min-records", defaultMinRecords, "measured `calls` that both sides must have")
	f.StringVar(&r.alerts, "alerts", "", "append new alerts to this `file`, one JSON object a line, each id once")
	f.StringVar(&r.every, "every", "", "look again after each such `duration`, until SIGTERM or SIGINT")
	if err := r.parse(args, r.noArguments, r.check); err != nil {
		return exitFailed, err
	}
	if r.period > 0 {
		return r.watch(ctx, stdout, stderr)
	}
	found, err := r.look(ctx)
	if err != nil {
		return exitFailed, err
	}
	if r.alerts != "" {
		if _, err := appendAlerts(r.alerts, found.Alerts); err != nil {
			return exitFailed, err
		}
	}
	document := regressDocument(found)
	if r.out == output.CSV {
		document = regressRows(found)
	}
	if err := document.Write(stdout, r.out); err != nil {
		return exitFailed, err
	}
	return found.exitCode(), nil
}

func (r *regressFlags) check() error {
	var errs []error
	o := &r.options
	if o.Metric != "" && o.Metric != string(query.CPU) && o.Metric != string(query.Wall) {
		errs = append(errs, fmt.Errorf("--metric: want cpu or wall, found %q", o.Metric))
	}
	if !(o.ThresholdPercent >= 0) || o.ThresholdPercent > 1e6 {
		errs = append(errs, fmt.Errorf("--threshold: want a percentage of 0 or more, found %v", o.ThresholdPercent))
	}
	if o.MinRecords < 1 {
		errs = append(errs, fmt.Errorf("--min-records: want 1 or more, found %d", o.MinRecords))
	}
	if r.every != "" {
		var err error
		r.period, err = parseDuration("--every", r.every)
		if err == nil && r.period < time.Second {
			err = fmt.Errorf("--every: want 1s or more, found %q", r.every)
		}
		errs = append(errs, err)
		given := false
		r.flags.Visit(func(f *flag.Flag) { given = given || f.Name == "from" || f.Name == "to" })
		if given {
			errs = append(errs, errors.New("--every: --from and --to stand still: use --since"))
		}
		if r.out != output.Text && r.out != output.JSON {
			errs = append(errs, fmt.Errorf("--every: writes text or json, found --format %q", r.format))
		}
	}
	return errors.Join(errs...)
}

// findings is what one look found.
type findings struct {
	From         time.Time             `json:"from"`
	To           time.Time             `json:"to"`
	Threshold    float64               `json:"threshold_percent"`
	MinRecords   int64                 `json:"min_records"`
	Alerts       []alert.Alert         `json:"alerts"`
	Comparisons  []*verdict.Comparison `json:"comparisons"`
	NotCompared  []verdict.Skip        `json:"not_compared"`
	CouldNotTell bool                  `json:"could_not_tell"`
}

func (f *findings) exitCode() int {
	switch {
	case len(f.Alerts) > 0:
		return exitFound
	case f.CouldNotTell:
		return exitCannotTell
	}
	return exitNothing
}

// look opens the newest commit of the warehouse and compares.
func (r *regressFlags) look(ctx context.Context) (*findings, error) {
	w, err := query.Open(ctx, r.warehouse, r.window)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := &findings{
		From: r.window.From, To: r.window.To, Threshold: r.options.ThresholdPercent, MinRecords: r.options.MinRecords,
		Alerts: []alert.Alert{}, Comparisons: []*verdict.Comparison{}, NotCompared: []verdict.Skip{}, CouldNotTell: true,
	}
	if f.To.IsZero() {
		f.To = now()
	}
	runs, err := w.Runs(ctx, r.window, r.filter)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, r.nothing(ctx, w)
	}
	pairs, skips, err := verdict.Pairs(runs, r.options.Base, r.options.Head)
	if err != nil {
		return nil, err
	}
	f.NotCompared = append(f.NotCompared, skips...)
	comparisons, err := verdict.Compare(ctx, w, r.filter, pairs, r.options)
	if err != nil {
		return nil, err
	}
	for _, c := range comparisons {
		f.Comparisons = append(f.Comparisons, c)
		f.Alerts = append(f.Alerts, c.Alerts...)
		f.CouldNotTell = f.CouldNotTell && !c.Told()
	}
	return f, nil
}

// manyLines is how many methods a comparison may have to be printed in full.
const manyLines = 30

func regressDocument(f *findings) *output.Document {
	d := &output.Document{Data: f}
	t := &output.Table{Columns: []string{
		"service", "environment", "base", "head", "method", "verdict", "metric", "basis", "change", "95% interval", "base/call", "head/call", "records", "$/day",
	}}
	var notes []string
	for _, cmp := range f.Comparisons {
		notes = append(notes, summary(cmp))
		for i := range cmp.Methods {
			l := &cmp.Methods[i]
			raised := l.State == verdict.Regressed || l.State == verdict.Explained
			if !raised && len(cmp.Methods) > manyLines {
				continue
			}
			t.Rows = append(t.Rows, lineOf(cmp, l, usdOf(cmp.Alerts, l)))
		}
	}
	for _, s := range f.NotCompared {
		notes = append(notes, fmt.Sprintf("%s: not compared: %s", s.Service, s.Reason))
	}
	for _, a := range f.Alerts {
		d.Say(fmt.Sprintf("%s: %s of %s: %s", a.Severity, fullName(a.Class, a.Method, a.Signature), a.Service, a.Reason))
	}
	if len(t.Rows) > 0 {
		d.Add(t)
	}
	if len(f.Alerts) == 0 {
		verdict := fmt.Sprintf("no method became more than %g%% dearer beyond doubt", f.Threshold)
		if f.CouldNotTell {
			verdict = "could not tell: no method could be compared"
		}
		notes = append([]string{verdict}, notes...)
	}
	d.Say(notes...)
	return d
}

func summary(c *verdict.Comparison) string {
	n := map[verdict.State]int{}
	judged := 0
	for _, l := range c.Methods {
		n[l.State]++
		if l.State.Judged() {
			judged++
		}
	}
	return fmt.Sprintf("%s: version %s against %s by %s time, clusters: %s: %d methods compared, %d raised, %d dearer through these, "+
		"%d with too few records, %d in too few slots, %d new, %d gone",
		c.Service, c.HeadVersion, c.BaseVersion, c.Metric, c.Clusters, judged, n[verdict.Regressed], n[verdict.Explained],
		n[verdict.FewRecords], n[verdict.FewSlots], n[verdict.New], n[verdict.Gone])
}

var stateNames = map[verdict.State]string{
	verdict.Regressed: "REGRESSED", verdict.Explained: "by its callees", verdict.NotProven: "~",
	verdict.FewRecords: "too few records", verdict.FewSlots: "too few slots", verdict.New: "new", verdict.Gone: "gone",
}

func lineOf(c *verdict.Comparison, l *verdict.Line, usd *float64) []output.Cell {
	change, interval, base, head := unknown, unknown, unknown, unknown
	if l.ChangePercent != nil {
		change = fmt.Sprintf("%+.1f%%", *l.ChangePercent)
		interval = fmt.Sprintf("%+.1f%% to %+.1f%%", l.Interval[0], l.Interval[1])
		base, head = nanos(&l.BaseNSPerCall), nanos(&l.HeadNSPerCall)
	}
	state := stateNames[l.State]
	if c.Metric == query.CPU && l.State == verdict.FewRecords && l.BaseRecords+l.HeadRecords == 0 {
		state = "no CPU measured"
	}
	basis := l.Basis
	if basis == "" {
		basis = unknown
	}
	return []output.Cell{
		output.Name(c.Name), output.Name(c.Environment), output.Name(c.BaseVersion), output.Name(c.HeadVersion),
		output.Name(fullName(l.Class, l.Method, l.Signature)), output.Name(state), output.Name(string(c.Metric)), output.Name(basis),
		output.Figure(change), output.Figure(interval), output.Figure(base), output.Figure(head),
		output.Figure(fmt.Sprintf("%d, %d", l.BaseRecords, l.HeadRecords)), output.Figure(amount(usd)),
	}
}
