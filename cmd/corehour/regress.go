package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/resolution"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

// regressFlags are the flags of regress in addition to the common ones.
type regressFlags struct {
	*common
	options  verdict.Options
	method   string // names the rule
	rule     verdict.Rule
	limits   string // file of thresholds
	times    evidenceFlags
	top      topFlags
	alerts   string
	every    everyFlag
	delivery deliverFlags
}

func newRegressCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "regress [flags]",
		Short: "Compare each service's newest version with the one before",
		Long: `Compares the newest version of each service and environment with the one before it, adjusted for
caller mix and hour. A method is reported if it is more expensive by --threshold percent or more and
two consecutive evaluations confirm it; by CPU time where both versions have it, else by wall time.
~ marks a change that is not statistically significant. --webhook, --slack and --alertmanager send
alerts. See docs/regression.md, docs/statistics.md and docs/alerts.md.`,
		Example: `  corehour regress --warehouse ./corehour-warehouse
  corehour regress --service shop --base 1.9.0 --head 1.10.0
  corehour regress --every 5m --alertmanager http://localhost:9093`,
		Annotations: exits("0 no regression\n1 a regression\n2 failed\n3 not enough data, or one version only"),
	}
	r := &regressFlags{common: newCommon(cmd, "7d")}
	f := r.flags
	r.declareRule(cmd)
	r.top.declare(f, "how many services, of those without an alert, to print; json and csv have all of them")
	f.StringVar(&r.alerts, "alerts", "", "append new alerts to this `file`, one JSON object a line, each id once")
	r.every.declare(f)
	r.delivery.declare(f)
	return withWork(cmd, r.compareVersions)
}

func (r *regressFlags) compareVersions(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	r.notices = stderr
	if err := r.checkFlags(r.noArguments, r.checkRule, func() error { return errors.Join(r.top.check(r.flags), r.every.check(r.common)) }); err != nil {
		return exitFailed, err
	}
	if err := r.delivery.prepare(r.warehouse, r.every.period, stderr, "regress"); err != nil {
		return exitFailed, err
	}
	if r.every.period > 0 {
		w := &watcher{common: r.common, name: "regress", period: r.every.period, alerts: r.alerts, delivery: &r.delivery, stdout: stdout, stderr: stderr}
		w.evaluate = func(ctx context.Context) ([]alert.Alert, error) {
			found, err := r.evaluate(ctx)
			if err != nil {
				return nil, err
			}
			err = r.deliverAlerts(ctx, found)
			return found.Alerts, err
		}
		return w.watch(ctx)
	}
	found, err := r.evaluate(ctx)
	if err != nil {
		return exitFailed, err
	}
	undelivered := r.deliverAlerts(ctx, found)
	if found.Alerts == nil {
		return exitFailed, undelivered
	}
	if err := appendAlerts(r.alerts, found.Alerts); err != nil {
		return exitFailed, errors.Join(undelivered, err)
	}
	document := regressDocument(found, r.top.lines)
	switch r.out {
	case output.CSV:
		document = regressRows(found)
	case output.MarkdownPage:
		document = regressPage(found, r.top.lines)
	}
	if err := r.write(stdout, document); err != nil {
		return exitFailed, errors.Join(undelivered, err)
	}
	return found.exitCode(), undelivered
}

// deliverAlerts leaves out accepted and muted alerts and sends the rest. Alerts that could not be
// sent count all the same.
func (r *regressFlags) deliverAlerts(ctx context.Context, f *findings) error {
	sorted, err := r.delivery.router.Handle(ctx, delivery.Findings{Alerts: f.Alerts, ThresholdPercent: f.Threshold, Gone: resolution.ByComparisons(f.Comparisons, f.Threshold)})
	if sorted == nil {
		f.Alerts = nil
		return err
	}
	f.Alerts, f.Accepted, f.Silenced = sorted.Raised, sorted.Accepted, sorted.Silenced
	return err
}

// declareRule declares the flags for what is compared and raised.
func (r *regressFlags) declareRule(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.options.Base, "base", "", "`version` to compare with (default: the one before head)")
	f.StringVar(&r.options.Head, "head", "", "`version` to judge (default: the newest)")
	f.StringVar(&r.options.Metric, "metric", "", "cpu or wall (default: cpu where both versions have it of the method, else wall)")
	f.StringVar(&r.method, "method", verdict.EvidenceRule{}.Name(), "evidence (e-values, see docs/statistics.md) or threshold (percent and an interval)")
	f.Float64Var(&r.options.ThresholdPercent, "threshold", 0, "`percent` that a change must be above (default: 2 by evidence, 10 by threshold)")
	f.Int64Var(&r.options.MinRecords, "min-records", 0, "measured `calls` that both versions must have (default: 30 by evidence, 100 by threshold)")
	f.StringVar(&r.limits, "thresholds", "", "`file` of thresholds of some services and methods (by threshold)")
	r.times.declare(f)
	r.completeVersions(cmd, "base", "head")
	completeFlag(cmd, "metric", cobra.FixedCompletions([]string{"cpu", "wall"}, cobra.ShellCompDirectiveNoFileComp))
	completeFlag(cmd, "method", cobra.FixedCompletions([]string{verdict.EvidenceRule{}.Name(), verdict.ThresholdRule{}.Name()}, cobra.ShellCompDirectiveNoFileComp))
}

func (r *regressFlags) checkRule() error {
	var errs []error
	o := &r.options
	if o.Metric != "" && o.Metric != string(query.CPU) && o.Metric != string(query.Wall) {
		errs = append(errs, fmt.Errorf("--metric: want cpu or wall, found %q", o.Metric))
	}
	errs = append(errs, r.checkMethod())
	least := r.rule.Least()
	if !(o.ThresholdPercent >= least.ThresholdPercent) || o.ThresholdPercent > 1e6 {
		errs = append(errs, fmt.Errorf("--threshold: want a percentage of %g or more by %s, found %v", least.ThresholdPercent, r.method, o.ThresholdPercent))
	}
	if o.MinRecords < least.MinRecords {
		errs = append(errs, fmt.Errorf("--min-records: want %d or more by %s, found %d", least.MinRecords, r.method, o.MinRecords))
	}
	return errors.Join(errs...)
}

// checkMethod chooses the rule, and sets and checks what depends on it.
func (r *regressFlags) checkMethod() error {
	r.rule = verdict.ThresholdRule{} // unless it is the other
	var errs []error
	switch r.method {
	case verdict.EvidenceRule{}.Name():
		r.rule = verdict.EvidenceRule{}
		errs = append(errs, r.times.check(r.flags, &r.options))
		if r.limits != "" {
			errs = append(errs, errors.New("--thresholds: has no effect without --method threshold: leave it out"))
		}
	case verdict.ThresholdRule{}.Name():
		if given(r.flags, "slot") {
			errs = append(errs, errors.New("--slot: has no effect with --method threshold: leave one of them out"))
		}
		if given(r.flags, "warm-up") {
			errs = append(errs, r.times.checkWarmUp(&r.options))
		}
	default:
		errs = append(errs, fmt.Errorf("--method: want evidence or threshold, found %q", r.method))
	}
	if !given(r.flags, "threshold") {
		r.options.ThresholdPercent = r.rule.Default().ThresholdPercent
	}
	if !given(r.flags, "min-records") {
		r.options.MinRecords = r.rule.Default().MinRecords
	}
	return errors.Join(errs...)
}

// findings is the result of one evaluation.
type findings struct {
	From         time.Time             `json:"from"`
	To           time.Time             `json:"to"`
	Method       string                `json:"method"`
	Threshold    float64               `json:"threshold_percent"`
	MinRecords   int64                 `json:"min_records"`
	Alerts       []alert.Alert         `json:"alerts"`
	Accepted     []delivery.Accepted   `json:"accepted"`
	Silenced     []delivery.Silenced   `json:"silenced"`
	Comparisons  []*verdict.Comparison `json:"comparisons"`
	NotCompared  []verdict.Skip        `json:"not_compared"`
	CouldNotTell bool                  `json:"could_not_tell"`
	Warnings     []string              `json:"warnings,omitempty"`
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

// evaluate opens the newest commit of the warehouse and compares.
func (r *regressFlags) evaluate(ctx context.Context) (*findings, error) {
	w, err := r.open(ctx, r.window)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := &findings{
		From: r.window.From, To: r.window.To, Method: r.rule.Name(), Threshold: r.options.ThresholdPercent, MinRecords: r.options.MinRecords,
		Alerts: []alert.Alert{}, Comparisons: []*verdict.Comparison{}, NotCompared: []verdict.Skip{}, CouldNotTell: true,
	}
	if f.To.IsZero() {
		f.To = now()
	}
	runs, err := w.RunsBy(ctx, r.options.Unit(), r.window, r.filter)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, r.nothing(ctx, w)
	}
	f.Warnings = cost.AheadOf(slices.MaxFunc(runs, func(a, b query.Run) int { return a.Last.Compare(b.Last) }).Last, now())
	if slices.ContainsFunc(runs, func(r query.Run) bool { return r.UnknownProcesses }) { // as of other SDKs
		merged, err := w.Merged(ctx, r.window, r.filter)
		if err != nil {
			return nil, err
		}
		var notes []string
		for _, s := range merged {
			notes = append(notes, cost.MergedNote(s))
		}
		f.Warnings = append(f.Warnings, cost.Few(notes)...)
	}
	pairs, skips, err := verdict.Pairs(runs, r.options.Base, r.options.Head)
	if err != nil {
		return nil, err
	}
	if err := r.readThresholds(); err != nil {
		return nil, err
	}
	o := r.options
	o.AsOf = now()
	comparisons, few, err := r.rule.Compare(ctx, w, r.filter, pairs, o)
	if err != nil {
		return nil, err
	}
	f.NotCompared = append(append(f.NotCompared, skips...), few...)
	for _, c := range comparisons {
		f.Comparisons = append(f.Comparisons, c)
		f.Alerts = append(f.Alerts, c.Alerts...)
		f.CouldNotTell = f.CouldNotTell && !c.Told()
	}
	slices.SortStableFunc(f.Alerts, alert.MoreExpensive)
	return f, nil
}

// readThresholds reads the file at every evaluation, as the other files of rules are.
func (r *regressFlags) readThresholds() error {
	if r.limits == "" {
		return nil
	}
	thresholds, warnings, err := configfile.Source[*rules.Thresholds]{Key: "--thresholds", Path: r.limits, Parse: rules.ParseThresholds}.Load()
	if err != nil {
		return err
	}
	r.options.Thresholds = thresholds
	r.delivery.warn(r.notices, "regress", warnings)
	return nil
}
