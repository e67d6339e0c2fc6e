package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// everyFlag repeats the evaluations of a command.
type everyFlag struct {
	every  string
	period time.Duration // 0 = one evaluation
}

func (e *everyFlag) declare(f *pflag.FlagSet) {
	f.StringVar(&e.every, "every", "", "evaluate again after each `duration`, until SIGTERM or SIGINT; --max-bytes-billed bounds each evaluation")
	groupFlags(f, alertFlags, "every")
}

func (e *everyFlag) check(c *common) error {
	if e.every == "" {
		return nil
	}
	var errs []error
	var err error
	e.period, err = parseDuration("--every", e.every)
	if err == nil && e.period < time.Second {
		err = fmt.Errorf("--every: want 1s or more, found %q", e.every)
	}
	errs = append(errs, err)
	if given(c.flags, "from") || given(c.flags, "to") {
		errs = append(errs, errors.New("--every: --from and --to do not move: use --since"))
	}
	if c.out != output.Text && c.out != output.JSON {
		errs = append(errs, fmt.Errorf("--every: want text or json, found --format %q", c.format))
	}
	return errors.Join(errs...)
}

// watcher evaluates the warehouse repeatedly until the context ends. It reports a failed evaluation and
// goes on: the warehouse may not exist yet, or its disk may be away for a while.
type watcher struct {
	*evaluationFlags
	evaluate       func(context.Context) (evaluationResult, error)
	stdout, stderr io.Writer
}

func (w *watcher) watch(ctx context.Context) (int, error) {
	ticker := time.NewTicker(w.every.period)
	defer ticker.Stop()
	remembered := &delivery.Remembered{File: w.alerts}
	for {
		fresh, err := w.evaluateOnce(ctx, remembered)
		for _, a := range fresh {
			if err := printAlert(w.stdout, &a, w.out); err != nil {
				return exitFailed, err
			}
		}
		switch {
		case ctx.Err() != nil:
			return w.end(err)
		case errors.Is(err, query.ErrNoData):
			fmt.Fprintf(w.stderr, "corehour %s: could not tell: %s\n", w.flags.Name(), output.Printable(err.Error()))
		case err != nil:
			printError(w.stderr, w.flags.Name(), err)
		}
		select {
		case <-ctx.Done():
			return w.end(w.delivery.router.Flush(ctx))
		case <-ticker.C:
		}
	}
}

// end reports alerts that could not be sent; the next evaluation sends them.
func (w *watcher) end(err error) (int, error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		printError(w.stderr, w.flags.Name(), err)
	}
	return exitNothing, nil
}

// evaluateOnce evaluates, and returns the alerts that were not raised before.
func (w *watcher) evaluateOnce(ctx context.Context, remembered *delivery.Remembered) ([]alert.Alert, error) {
	if err := w.parseWindow(); err != nil { // --since moves with the clock
		return nil, err
	}
	w.spent = new(bigquery.Spent) // a new one, because the evaluations of a year would reach the bound
	if err := w.delivery.reload(w.stderr, w.flags.Name()); err != nil {
		printError(w.stderr, w.flags.Name(), err)
	}
	var raised []alert.Alert
	found, err := w.evaluate(ctx)
	if err == nil {
		raised, err = found.Deliver(ctx, w.delivery.router)
	}
	fresh, failed := remembered.Fresh(raised)
	if failed != nil {
		err = errors.Join(err, fmt.Errorf("--alerts: %w", failed))
	}
	return fresh, err
}

func printAlert(w io.Writer, a *alert.Alert, f output.Format) error {
	if f == output.JSON {
		line, err := output.Line(a)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	}
	_, err := fmt.Fprintln(w, output.Printable(now().UTC().Format(time.RFC3339)+" "+a.Line(nil)))
	return err
}
