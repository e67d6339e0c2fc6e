package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// evaluationResult is the result of an evaluation.
type evaluationResult interface {
	// Deliver sends alerts and returns the raised ones, or nil if they are unknown.
	Deliver(context.Context, *delivery.Dispatcher) ([]alert.Alert, error)
	Document(output.View) *output.Document
	// Found reports whether anything was found, Inconclusive whether there was not enough data to decide.
	Found() bool
	Inconclusive() bool
}

// evaluationFlags holds the flags of commands that evaluate services, in addition to the common ones.
type evaluationFlags struct {
	*common
	metric   string
	verbose  bool
	top      topFlags
	alerts   string
	onlyNew  bool
	every    everyFlag
	delivery deliverFlags
}

// declare declares the flags; what names the entries that --top limits.
func (e *evaluationFlags) declare(what string) {
	f := e.flags
	e.top.declare(f, "how many services, of those without "+what+", to print; json and csv have all of them")
	f.BoolVar(&e.verbose, "verbose", false, "text: print the evidence, all methods and all columns")
	groupFlags(f, outputFlags, "verbose")
	f.StringVar(&e.alerts, "alerts", "", "append new alerts to this `file`, one JSON object a line, each id once")
	f.BoolVar(&e.onlyNew, "only-new", false, "exit with 1 only for an alert that --alerts or a sink did not have before, for jobs that run every few minutes")
	groupFlags(f, alertFlags, "alerts", "only-new")
	e.every.declare(f)
	e.delivery.declare(f)
}

// declareMetric declares --metric.
func (e *evaluationFlags) declareMetric(cmd *cobra.Command, byDefault string) {
	e.flags.StringVar(&e.metric, "metric", "", "cpu or wall (default: "+byDefault+")")
	completeFlag(cmd, "metric", cobra.FixedCompletions([]string{"cpu", "wall"}, cobra.ShellCompDirectiveNoFileComp))
}

func (e *evaluationFlags) checkMetric() error {
	if e.metric != "" && e.metric != string(query.CPU) && e.metric != string(query.Wall) {
		return fmt.Errorf("--metric: want cpu or wall, found %q", e.metric)
	}
	return nil
}

// evaluateServices evaluates once, or repeatedly with --every. It sends alerts and prints the findings.
func (e *evaluationFlags) evaluateServices(ctx context.Context, stdout, stderr io.Writer, evaluate func(context.Context) (evaluationResult, error)) (int, error) {
	if err := e.delivery.prepare(e.warehouse, e.every.period, stderr, e.flags.Name()); err != nil {
		return exitFailed, err
	}
	if e.every.period > 0 {
		w := &watcher{evaluationFlags: e, evaluate: evaluate, stdout: stdout, stderr: stderr}
		return w.watch(ctx)
	}
	if e.onlyNew && e.alerts == "" && len(e.delivery.router.Targets) == 0 {
		return exitFailed, errors.New("--only-new: has no effect without --alerts or a sink: add one of them")
	}
	begin := now()
	found, err := evaluate(ctx)
	if err != nil {
		return exitFailed, err
	}
	raised, undelivered := found.Deliver(ctx, e.delivery.router)
	if raised == nil {
		return exitFailed, undelivered
	}
	fresh := slices.DeleteFunc(slices.Clone(raised), func(a alert.Alert) bool { return a.RaisedAt.Before(begin) })
	if e.alerts != "" {
		if fresh, err = delivery.AppendFile(e.alerts, raised); err != nil {
			return exitFailed, errors.Join(undelivered, fmt.Errorf("--alerts: %w", err))
		}
	}
	code, err := e.print(found, stdout)
	if e.onlyNew && code == exitFound && len(fresh) == 0 {
		code = exitNothing
	}
	return code, errors.Join(undelivered, err)
}

// print prints the findings and returns the exit code.
func (e *evaluationFlags) print(f evaluationResult, stdout io.Writer) (int, error) {
	err := e.write(stdout, f.Document(output.View{Format: e.out, Top: e.top.lines, Verbose: e.verbose, Wide: e.wide}))
	switch {
	case f.Found():
		return exitFound, err
	case f.Inconclusive():
		return exitCannotTell, err
	}
	return exitNothing, err
}
