package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/compare/findings"
	"github.com/corehour/corehour/regression/compare/pairs"
)

// regressFlags holds the flags of regress in addition to those of evaluations.
type regressFlags struct {
	evaluationFlags
	options pairs.Options
	method  string // name of the rule
	rule    pairs.Rule
	limits  string // file of thresholds
	times   evidenceFlags
}

func newRegressCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "regress [flags]",
		Short: "Compare each service's newest version with the one before",
		Long: `Compares the newest version of each service and environment with the one before it, adjusted for
caller mix and hour. A method is reported if it is more expensive by --threshold percent or more and
two consecutive evaluations confirm it; by CPU time where both versions have it, else by wall time.
~ marks a change that is not statistically significant. --webhook, --slack and --alertmanager send
alerts. See docs/guides/regression.md, docs/background/statistics.md and docs/guides/alerts.md.`,
		Example: `  corehour regress --warehouse ./corehour-warehouse
  corehour regress --service shop --base 1.9.0 --head 1.10.0
  corehour regress --every 5m --alertmanager http://localhost:9093`,
		Annotations: exits("0 no regression\n1 a regression\n2 failed\n3 not enough data, or one version only"),
	}
	r := &regressFlags{evaluationFlags: evaluationFlags{common: newCommon(cmd, "7d")}}
	r.options.Remembered = new(pairs.Remembered)
	r.declareRule(cmd)
	r.declare("an alert")
	return withWork(cmd, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		r.notices = stderr
		if err := r.checkFlags(r.noArguments, r.checkRule, func() error { return errors.Join(r.top.check(r.flags), r.every.check(r.common)) }); err != nil {
			return exitFailed, err
		}
		return r.evaluateServices(ctx, stdout, stderr, func(ctx context.Context) (evaluationResult, error) { return r.evaluate(ctx) })
	})
}

// declareRule declares the flags for comparisons and the rule.
func (r *regressFlags) declareRule(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.options.Base, "base", "", "`version` to compare with (default: the one before head)")
	f.StringVar(&r.options.Head, "head", "", "`version` to judge (default: the newest)")
	r.declareMetric(cmd, "cpu where both versions have it of the method, else wall")
	f.StringVar(&r.method, "method", pairs.EvidenceRule{}.Name(), "evidence (e-values, see docs/background/statistics.md) or threshold (percent and an interval)")
	f.Float64Var(&r.options.ThresholdPercent, "threshold", 0, "`percent` that a change must be above (default: 2 by evidence, 10 by threshold)")
	f.Int64Var(&r.options.MinRecords, "min-records", 0, "measured `calls` that both versions must have (default: 30 by evidence, 100 by threshold)")
	f.Float64Var(&r.options.MinSharePercent, "min-share", 0, "`percent` of the service's cost that a change must cost (by evidence; default: 0.1)")
	f.StringVar(&r.limits, "thresholds", "", "`file` of thresholds of some services and methods (by threshold)")
	r.times.declare(f)
	r.completeVersions(cmd, "base", "head")
	completeFlag(cmd, "method", cobra.FixedCompletions([]string{pairs.EvidenceRule{}.Name(), pairs.ThresholdRule{}.Name()}, cobra.ShellCompDirectiveNoFileComp))
}

func (r *regressFlags) checkRule() error {
	o := &r.options
	o.Metric = r.metric
	errs := []error{r.checkMetric(), r.checkMethod()}
	least := r.rule.Least()
	if !(o.ThresholdPercent >= least.ThresholdPercent) || o.ThresholdPercent > 1e6 {
		errs = append(errs, fmt.Errorf("--threshold: want a percentage of %g or more by %s, found %v", least.ThresholdPercent, r.method, o.ThresholdPercent))
	}
	if o.MinRecords < least.MinRecords {
		errs = append(errs, fmt.Errorf("--min-records: want %d or more by %s, found %d", least.MinRecords, r.method, o.MinRecords))
	}
	return errors.Join(errs...)
}

// checkMethod selects the rule, and sets and checks the flags that depend on it.
func (r *regressFlags) checkMethod() error {
	r.rule = pairs.ThresholdRule{} // unless it is the other
	var errs []error
	switch r.method {
	case pairs.EvidenceRule{}.Name():
		r.rule = pairs.EvidenceRule{}
		errs = append(errs, r.times.check(r.flags, &r.options))
		if r.limits != "" {
			errs = append(errs, errors.New("--thresholds: has no effect without --method threshold: leave it out"))
		}
	case pairs.ThresholdRule{}.Name():
		if given(r.flags, "min-share") {
			errs = append(errs, errors.New("--min-share: has no effect with --method threshold: leave one of them out"))
		}
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
	if !given(r.flags, "min-share") {
		r.options.MinSharePercent = r.rule.Default().MinSharePercent
	}
	if share := r.options.MinSharePercent; !(share >= 0 && share < 100) {
		errs = append(errs, fmt.Errorf("--min-share: want a percentage of 0 or more and below 100, found %v", share))
	}
	return errors.Join(errs...)
}

// evaluate opens the newest commit of the warehouse and compares.
func (r *regressFlags) evaluate(ctx context.Context) (*findings.Findings, error) {
	w, err := r.open(ctx, r.window)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := r.readThresholds(); err != nil {
		return nil, err
	}
	o := r.options
	o.AsOf = now()
	found, err := findings.Evaluate(ctx, w, r.filter, r.rule, o)
	if err == nil && found == nil {
		err = r.nothing(ctx, w)
	}
	return found, err
}

// readThresholds reads the file at every evaluation, like the other files of rules.
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
