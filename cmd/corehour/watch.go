package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// maxRemembered bounds the ids of alerts that a watching process remembers to
// have printed; beyond it the oldest are forgotten and may be printed again.
const maxRemembered = 100_000

// watch looks at the warehouse again and again until the context ends. A look
// that fails is said and does not end it: the warehouse may not be there yet, or
// its disk be away for a while.
func (r *regressFlags) watch(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	ticker := time.NewTicker(r.period)
	defer ticker.Stop()
	printed := map[string]bool{}
	var order []string
	for {
		fresh, err := r.lookOnce(ctx, printed, stderr)
		for _, a := range fresh {
			if err := printAlert(stdout, &a, r.out); err != nil {
				return exitFailed, err
			}
			printed[a.ID] = true
			order = append(order, a.ID)
		}
		for len(order) > maxRemembered {
			delete(printed, order[0])
			order = order[1:]
		}
		switch {
		case ctx.Err() != nil:
			return r.end(stderr, err)
		case errors.Is(err, query.ErrNoData):
			fmt.Fprintf(stderr, "corehour regress: could not tell: %s\n", output.Printable(err.Error()))
		case err != nil:
			printError(stderr, "regress", err)
		}
		select {
		case <-ctx.Done():
			return r.end(stderr, r.delivery.desk.Flush(ctx))
		case <-ticker.C:
		}
	}
}

// end says what could not be sent any more; it is sent when somebody looks again.
func (r *regressFlags) end(stderr io.Writer, err error) (int, error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		printError(stderr, "regress", err)
	}
	return exitNothing, nil
}

// lookOnce looks and returns the alerts not printed yet. Those that the alert
// file holds already count as printed, so a restart does not repeat them.
func (r *regressFlags) lookOnce(ctx context.Context, printed map[string]bool, stderr io.Writer) ([]alert.Alert, error) {
	if err := r.parseWindow(); err != nil { // --since moves with the clock
		return nil, err
	}
	found, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.delivery.reload(stderr, "regress"); err != nil {
		printError(stderr, "regress", err)
	}
	err = r.tell(ctx, found)
	var fresh []alert.Alert
	for _, a := range found.Alerts {
		if !printed[a.ID] {
			fresh = append(fresh, a)
		}
	}
	if r.alerts == "" || len(fresh) == 0 {
		return fresh, err
	}
	fresh, failed := appendAlerts(r.alerts, fresh)
	return fresh, errors.Join(err, failed)
}

func printAlert(w io.Writer, a *alert.Alert, f output.Format) error {
	if f == output.JSON {
		line, err := output.Line(a)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	}
	_, err := fmt.Fprintln(w, output.Printable(fmt.Sprintf("%s %s: %s of %s: %s",
		now().UTC().Format(time.RFC3339), a.Severity, fullName(a.Class, a.Method, a.Signature), a.Service, a.Reason)))
	return err
}
