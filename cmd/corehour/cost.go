package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const costUsage = `Ranks methods by the dollars that their own code costs (self: without the calls
they make), with standard errors from clusters of instance and time. Inclusive
costs nest and are never added up. A method whose CPU was never measured is listed
with its calls and wall time, without a cost. ~ marks self costs that are too
uncertain to act on: a standard error above 30%, or calls of unknown caller.`

func runCost(ctx context.Context, args []string, stdout, _ io.Writer) (int, error) {
	c := newCommon("cost", "", costUsage, "24h", stdout)
	top := c.flags.Int("top", 30, "how many methods to print, 0 = all; json and csv have all of them")
	err := c.parse(args, c.noArguments, func() error {
		if *top < 0 {
			return fmt.Errorf("--top: want 0 or more, found %d", *top)
		}
		return nil
	})
	if err != nil {
		return exitFailed, err
	}
	w, err := query.Open(ctx, c.warehouse, c.window)
	if err != nil {
		return exitFailed, err
	}
	defer w.Close()
	r, err := cost.Compute(ctx, w, c.filter)
	if err != nil {
		return exitFailed, err
	}
	if r.To.IsZero() {
		r.To = now()
	}
	if len(r.Services) == 0 {
		return exitFailed, c.nothing(ctx, w)
	}
	if c.out == output.CSV {
		return exitNothing, costRows(r).Write(stdout, c.out)
	}
	return exitNothing, costDocument(r, *top, c.zone).Write(stdout, c.out)
}

// nothing says that no row passed the filters, and what would have.
func (c *common) nothing(ctx context.Context, w *query.Warehouse) error {
	services, err := w.Services(ctx)
	if err != nil {
		return err
	}
	what := "any service"
	var names, environments []string
	for _, s := range services {
		names, environments = append(names, s.Name), append(environments, s.Environment)
	}
	hint := func(found string, all []string) string {
		slices.Sort(all)
		all = slices.Compact(all)
		if slices.Contains(all, found) {
			return ""
		}
		if h := configfile.DidYouMean(found, all); h != "" {
			return " (" + h + ")"
		}
		return ""
	}
	if c.filter.Service != "" {
		what = fmt.Sprintf("service %q", c.filter.Service) + hint(c.filter.Service, names)
	}
	if c.filter.Environment != "" {
		what += fmt.Sprintf(" in environment %q", c.filter.Environment) + hint(c.filter.Environment, environments)
	}
	return fmt.Errorf("%w: nothing of %s %s", query.ErrNoData, what, c.span())
}

func (c *common) span() string {
	from, to := "since the first row", "until now"
	if !c.window.From.IsZero() {
		from = "from " + showTime(c.window.From, c.zone)
	}
	if !c.window.To.IsZero() {
		to = "to " + showTime(c.window.To, c.zone)
	}
	return from + " " + to
}

func showTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}

func costDocument(r *cost.Report, top int, zone *time.Location) *output.Document {
	d := &output.Document{Data: r}
	shown := r.Methods
	if top > 0 && len(shown) > top {
		shown = shown[:top]
	}
	t := &output.Table{Columns: []string{
		"service", "environment", "method", "self $/day", "self $", "±se", "share", "self core-h", "incl core-h", "calls", "cpu/call", "wall/call",
	}}
	for _, m := range shown {
		mark := ""
		if m.Uncertain {
			mark = "~"
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(m.Name), output.Name(m.Environment), output.Name(fullName(m.Class, m.Method, m.Signature)),
			output.Figure(mark + amount(m.SelfUSDPerDay)), output.Figure(mark + amount(m.SelfUSD)),
			output.Figure(relative(m.SelfCoreHoursSE, m.SelfCoreHours)), output.Figure(mark + percent(m.ShareOfProcessCPU)),
			output.Figure(mark + amount(m.SelfCoreHours)), output.Figure(amount(m.InclusiveCoreHours)),
			output.Figure(wholeNumber(m.Calls)), output.Figure(nanos(m.CPUNSPerCall)), output.Figure(nanos(m.WallNSPerCall)),
		})
	}
	d.Say(fmt.Sprintf("self cost of methods, %s to %s; rows cover %s, per-day figures are scaled to a day",
		showTime(r.From, zone), showTime(r.To, zone), coverage(r.ObservedDays)))
	d.Add(t)
	if n := len(r.Methods) - len(shown); n > 0 {
		d.Say(fmt.Sprintf("%d more methods: --top 0 prints all", n))
	}
	d.Add(reconciliation(r))
	return d
}

// reconciliation shows how self costs add up to the processes' CPU.
func reconciliation(r *cost.Report) *output.Table {
	t := &output.Table{
		Title:   "how it adds up",
		Columns: []string{"service", "environment", "line", "core-h", "$", "calls"},
	}
	for i := range r.Services {
		s := &r.Services[i]
		line := func(what string, hours, usd *float64, calls string) {
			t.Rows = append(t.Rows, []output.Cell{
				output.Name(s.Name), output.Name(s.Environment), output.Name(what),
				output.Figure(amount(hours)), output.Figure(amount(usd)), output.Figure(calls),
			})
		}
		line("sum of self costs", &s.AttributedCoreHours, &s.AttributedUSD, "")
		line("unattributed process CPU", s.UnattributedCoreHours, s.UnattributedUSD, "")
		line("process CPU", s.ProcessCoreHours, s.ProcessUSD, "")
		if s.UnpricedCoreHours > 0 {
			line("of it unpriced", &s.UnpricedCoreHours, nil, "")
		}
		if s.UnknownCallerCoreHours > 0 {
			line("in calls of unknown caller", &s.UnknownCallerCoreHours, nil, "")
		}
		if s.UnmeasuredCalls >= 0.5 {
			line("unmeasured calls", nil, nil, wholeNumber(s.UnmeasuredCalls))
		}
	}
	return t
}
