package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/regression/query"
)

// driftFlags holds the flags of drift in addition to those of evaluations.
type driftFlags struct {
	evaluationFlags
	csv string
}

func newDriftCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drift [flags]",
		Short: "Find methods that became more expensive over weeks",
		Long: `Finds methods that became more expensive over weeks, with the day it began: a rise or a step over 56
days, adjusted for callers, weekdays and what all methods of a service share. Only closed days (UTC)
count. Nine consecutive daily evaluations confirm a drift. A method needs 21 of the 56 days before
each. ~ marks a change that is not statistically significant. --csv evaluates any daily series.
See docs/guides/drift.md and docs/guides/alerts.md.`,
		Example: `  corehour drift --since 180d --service shop
  corehour drift --every 24h --slack env:SLACK_URL
  corehour drift --csv latency.csv`,
		Annotations: exits("0 no drift\n1 a drift that an evaluation of the last week confirms\n2 failed\n3 not enough history"),
	}
	d := &driftFlags{evaluationFlags: evaluationFlags{common: newCommon(cmd, "365d")}}
	d.declareMetric(cmd, "cpu where a service has it, else wall")
	d.flags.StringVar(&d.csv, "csv", "", "evaluate the daily series of this `file` (columns date, value; optional name, weight) instead of a warehouse")
	d.declare("a drift")
	return withWork(cmd, d.printDrifts)
}

func (d *driftFlags) printDrifts(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	d.notices = stderr
	if err := d.checkFlags(d.noArguments, d.check); err != nil {
		return exitFailed, err
	}
	if d.csv != "" {
		found, err := d.evaluateFile()
		if err != nil {
			return exitFailed, err
		}
		return d.print(found, stdout)
	}
	return d.evaluateServices(ctx, stdout, stderr, func(ctx context.Context) (evaluationResult, error) { return d.evaluateWarehouse(ctx) })
}

func (d *driftFlags) check() error {
	errs := []error{d.checkMetric()}
	d.flags.Visit(func(f *pflag.Flag) {
		if d.csv != "" && !slices.Contains([]string{"csv", "format", "json", "wide", "top", "all"}, f.Name) {
			errs = append(errs, fmt.Errorf("--%s has no effect with --csv: leave one of them out", f.Name))
		}
	})
	errs = append(errs, d.top.check(d.flags), d.every.check(d.common))
	return errors.Join(errs...)
}

// evaluateFile evaluates a file of daily series.
func (d *driftFlags) evaluateFile() (*evaluation.Evaluation, error) {
	file, err := os.Open(d.csv)
	if err != nil {
		return nil, fmt.Errorf("--csv: %w", err)
	}
	defer file.Close()
	found, err := evaluation.EvaluateCSV(file)
	if err != nil {
		return nil, fmt.Errorf("--csv: %w", inLines(d.csv, err))
	}
	return found, nil
}

func (d *driftFlags) evaluateWarehouse(ctx context.Context) (*evaluation.Evaluation, error) {
	o := evaluation.Options{
		Window: d.window, Filter: d.filter, Metric: query.Metric(d.metric), Now: now(), Zone: d.zone,
		Open: func(ctx context.Context, days query.Window) (*query.Warehouse, error) { return d.open(ctx, days) },
	}
	if d.delivery.router != nil {
		o.Owners = d.delivery.router.Owners
	}
	return evaluation.Evaluate(ctx, o)
}

// inLines prefixes every fault with the name of the file.
func inLines(path string, err error) error {
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		return fmt.Errorf("%s: %w", path, err)
	}
	var out []error
	for _, e := range several.Unwrap() {
		out = append(out, fmt.Errorf("%s: %w", path, e))
	}
	return errors.Join(out...)
}
