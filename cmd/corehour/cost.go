package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// costFlags holds the flags of cost in addition to the common ones.
type costFlags struct {
	*common
	top         topFlags
	by          string
	per         string
	percentiles bool
	budgets     string
	prices      string
	delivery    deliverFlags

	options cost.Options
	unit    cost.Per
}

func newCostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cost [flags]",
		Short: "Rank methods by what their own code costs",
		Long: `Ranks methods by the dollars a day that their own code costs, without the calls they make, with 95%
intervals. --by groups by class, service, version, caller, environment, owner or goroutine group.
~ marks a cost that is too uncertain to act on, >= a lower bound. The second table shows how the
lines add up to what is paid. --budgets raises an alert where significantly more is spent than
planned. See docs/guides/cost.md.`,
		Example: `  corehour cost --since 7d --service shop
  corehour cost --by service,version --per month
  corehour cost --budgets budgets.yaml --owners owners.yaml --slack env:SLACK_URL`,
		Annotations: exits("0 printed; every budget is kept\n1 a budget is not kept\n2 failed\n3 no data, or a budget that unknown costs may break"),
	}
	return withWork(cmd, newCostFlags(cmd, "24h").printCosts)
}

// newCostFlags declares the flags of cost. since is the default of --since, empty for all times.
func newCostFlags(cmd *cobra.Command, since string) *costFlags {
	c := &costFlags{common: newCommon(cmd, since)}
	f := c.flags
	f.StringVar(&c.by, "by", "method", "`what` to group by: method, class, service, version, caller, environment, owner, group; several with commas")
	f.StringVar(&c.per, "per", string(cost.PerDay), "`unit` of dollars: day, month, call, request or window; json and csv have all of them")
	c.top.declare(f, "how many lines, and bills of services, to print; json and csv have all of them")
	f.BoolVar(&c.percentiles, "percentiles", false, "p50, p95 and p99 of the wall and CPU time of calls, by method; takes twice as long")
	f.BoolVar(&c.options.IncludeAssumed, "include-assumed", false, "include dollars of calls without a known sampling probability, of which only a lower bound is known")
	f.StringVar(&c.budgets, "budgets", "", "`file` of budgets: a budget that is not kept raises an alert (exit code 1); 3 if unknown idle cores or calls may break one")
	f.StringVar(&c.prices, "prices", "", "price book (`file`) to use instead of the stored prices")
	c.delivery.declare(f)
	completeFlag(cmd, "per", cobra.FixedCompletions([]string{"day", "month", "call", "request", "window"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (c *costFlags) printCosts(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	c.notices = stderr
	if err := c.checkFlags(c.noArguments, c.check); err != nil {
		return exitFailed, err
	}
	if err := c.delivery.prepare(c.warehouse, 0, stderr, "cost"); err != nil {
		return exitFailed, err
	}
	c.options.Owners = c.delivery.router.Owners
	if err := c.loadPrices(stderr); err != nil {
		return exitFailed, err
	}
	budgets, err := c.loadBudgets(stderr)
	if err != nil {
		return exitFailed, err
	}
	w, r, err := c.compute(ctx)
	if err != nil {
		return exitFailed, err
	}
	defer w.Close()
	if r.RowsBy != "" {
		fmt.Fprintf(stderr, "corehour cost: rows of that time are rolled up by %s: evaluated %s to %s\n", r.RowsBy, output.Time(r.From, c.zone), output.Time(r.To, c.zone))
	}
	if len(r.Services) == 0 {
		return exitFailed, c.nothing(ctx, w)
	}
	answer := costAnswer{Table: r}
	code := exitNothing
	var undelivered error
	if budgets != nil {
		if answer.Budgets, undelivered = c.checkBudgets(ctx, w, r, budgets); answer.Budgets == nil {
			return exitFailed, undelivered
		}
		if len(answer.Budgets.Alerts) > 0 {
			code = exitFound
		} else if cost.MayBreak(answer.Budgets.Spendings) {
			code = exitCannotTell
		}
	}
	document := c.document(r, now())
	if answer.Budgets != nil {
		document.Data = answer
		answer.Budgets.addTables(document)
	}
	return code, errors.Join(undelivered, c.write(stdout, document))
}

// compute opens the warehouse, which the caller closes, and computes the costs.
func (c *costFlags) compute(ctx context.Context) (*query.Warehouse, *cost.Table, error) {
	c.options.Wall = true
	c.options.Filter, c.options.Percentiles = c.filter, c.percentiles
	w, err := c.open(ctx, c.window)
	if err != nil {
		return nil, nil, err
	}
	r, err := cost.Compute(ctx, w, c.options)
	if err == nil {
		err = ledger.NoteMissing(ctx, w, c.filter, r, now())
	}
	if err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	if r.To.IsZero() {
		r.To = now()
	}
	return w, r, nil
}

// document returns the costs in the form that the flags select. Notes name the counts that were due
// before at and did not arrive.
func (c *costFlags) document(r *cost.Table, at time.Time) *output.Document {
	d := r.Document(c.out, cost.View{Per: c.unit, Percentiles: c.percentiles, Top: c.top.lines, Zone: c.zone, Now: at})
	d.Data = costAnswer{Table: r}
	return d
}

func (c *costFlags) check() error {
	var errs []error
	errs = append(errs, c.top.check(c.flags))
	var err error
	if c.options.By, err = cost.ParseBy(c.by); err != nil {
		errs = append(errs, err)
	}
	if c.unit, err = cost.ParsePer(c.per); err != nil {
		errs = append(errs, err)
	}
	if slices.Contains(c.options.By, cost.ByOwner) && c.delivery.owners == "" {
		errs = append(errs, errors.New("--by owner: found no file of owners: give --owners"))
	}
	if c.budgets != "" && c.filter != (query.Filter{}) {
		errs = append(errs, errors.New("--budgets: want all services: leave --service, --namespace and --environment out"))
	}
	if c.budgets == "" {
		errs = append(errs, c.delivery.unused())
	}
	if c.percentiles && !slices.Equal(c.options.By, []cost.Dimension{cost.ByMethod}) {
		errs = append(errs, errors.New("--percentiles: want single methods: leave --by out"))
	}
	return errors.Join(errs...)
}
