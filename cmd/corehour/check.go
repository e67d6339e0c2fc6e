package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/query"
)

// checkedInBucket is the default window of check for a bucket.
const checkedInBucket = 48 * time.Hour

// checkCommand holds the flags of check in addition to the common ones.
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
a process may send to. See docs/README.md.`,
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
	w, err := c.open(ctx, c.window, query.VerifyRollups())
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
	d := r.Document(c.out, ledger.View{Top: c.top.lines, Zone: c.zone, Now: now()})
	excess, err := r.Reconcile(ctx, w, c.filter, c.window)
	switch {
	case ctx.Err() != nil:
		return exitFailed, ctx.Err()
	case errors.Is(err, warehouse.ErrCorrupt):
		return exitFailed, err
	case err != nil: // the accounting check does not need the collector
		d.Say(fmt.Sprintf("services whose costs were reduced to their CPU time are not known: %v", err))
	}
	d.Say(excess...)
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
