package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// budgeting is the result of comparing costs with a file of budgets.
type budgeting struct {
	Spendings []cost.Spending     `json:"spendings"`
	Alerts    []alert.Alert       `json:"alerts"`
	Silenced  []delivery.Silenced `json:"silenced"`
}

// costAnswer is the JSON form of cost.
type costAnswer struct {
	*cost.Table
	Budgets *budgeting `json:"budgets,omitempty"`
}

func (c *costFlags) loadBudgets(stderr io.Writer) (*cost.Budgets, error) {
	if c.budgets == "" {
		return nil, nil
	}
	budgets, warnings, err := configfile.Source[*cost.Budgets]{Key: "--budgets", Path: c.budgets, Parse: cost.ParseBudgets}.Load()
	if err != nil {
		return nil, err
	}
	c.delivery.warn(stderr, "cost", warnings)
	owned := slices.ContainsFunc(budgets.Budgets, func(b cost.Budget) bool { return b.Owner != "" })
	if owned && c.delivery.owners == "" {
		return nil, errors.New("--budgets: found budgets of owners and no file of owners: give --owners")
	}
	return budgets, nil
}

// checkBudgets compares the budgets with what is spent and sends alerts of those that are not kept.
func (c *costFlags) checkBudgets(ctx context.Context, w *query.Warehouse, r *cost.Table, budgets *cost.Budgets) (*budgeting, error) {
	if r.Groups != nil { // budgets are added up of methods
		o := c.options
		o.By = nil
		var err error
		if r, err = cost.Compute(ctx, w, o); err != nil {
			return nil, err
		}
	}
	b := &budgeting{Spendings: []cost.Spending{}}
	evaluation := delivery.Findings{Gone: b.resolved}
	for _, budget := range budgets.Budgets {
		s := r.Spend(budget)
		b.Spendings = append(b.Spendings, s)
		if s.Broken {
			evaluation.Alerts = append(evaluation.Alerts, budgetAlert(&s))
		}
	}
	sorted, err := c.delivery.router.Handle(ctx, evaluation)
	if sorted == nil {
		return nil, err
	}
	b.Alerts, b.Silenced = sorted.Raised, sorted.Silenced
	return b, err
}

func budgetAlert(s *cost.Spending) alert.Alert {
	b := &s.Budget
	percentOf := func(usd float64) float64 { return 100 * (usd/s.PlannedUSD - 1) }
	excess := *s.SpentUSD - s.PlannedUSD
	a := alert.Alert{
		Schema: alert.Schema, Kind: alert.Budget, Budget: b.Name,
		ServiceNamespace: b.Namespace, Service: b.Service, Environment: b.Environment, Class: b.Class, Owner: b.Owner,
		Metric: "usd_per_day", Base: s.PlannedUSD, Head: *s.SpentUSD,
		ChangePercent: percentOf(*s.SpentUSD), Interval: [2]float64{percentOf(s.Interval[0]), percentOf(s.Interval[1])},
		Records: s.Records, USDPerDay: &excess, GenericPrice: s.GenericPrice, FirstSeen: now().UTC().Truncate(time.Second), Links: []string{},
	}
	a.Severity = alert.SeverityOf(alert.Impact{USDPerDay: &excess, Share: excess / *s.SpentUSD})
	if s.Calls > 0 { // the reason says why that is a lower bound
		a.AssumedShare = s.AssumedCalls / s.Calls
	}
	if s.AtLeast != "" {
		a.Reason = fmt.Sprintf("budget %s (%s): %s of at least $%s a day, planned are $%s a day; %s",
			b.Name, b.Subject(), s.What, output.Amount(*s.SpentUSD), output.Amount(s.PlannedUSD), s.AtLeast)
		a.ID = alert.ID(&a)
		return a
	}
	a.Reason = fmt.Sprintf("budget %s (%s): %s of $%s a day, 95%% interval $%s to $%s, planned are $%s a day",
		b.Name, b.Subject(), s.What, output.Amount(*s.SpentUSD), output.Amount(s.Interval[0]), output.Amount(s.Interval[1]), output.Amount(s.PlannedUSD))
	a.ID = alert.ID(&a)
	return a
}

// resolved reports whether a budget of an open alert is kept again, and why.
func (b *budgeting) resolved(a *alert.Alert) (string, bool) {
	if a.Kind != alert.Budget {
		return "", false
	}
	for i := range b.Spendings {
		s := &b.Spendings[i]
		switch {
		case s.Name != a.Budget:
		case s.Unknown() || s.Broken:
			return "", false
		default:
			return fmt.Sprintf("$%s a day, planned are $%s a day", output.Amount(*s.SpentUSD), output.Amount(s.PlannedUSD)), true
		}
	}
	return "the budget was removed", true
}

// unknown reports whether a budget may be broken by idle cores or calls that are not known.
func (b *budgeting) unknown() bool {
	return slices.ContainsFunc(b.Spendings, func(s cost.Spending) bool { return s.AtLeast != "" && !s.Broken })
}

// addTables prints the budgets and their alerts.
func (b *budgeting) addTables(d *output.Document) {
	t := &output.Table{Title: "budgets", Columns: []string{"budget", "about", "state", "of", "planned $/day", "spent $/day", "95% interval", "records"}}
	var notes []string
	for i := range b.Spendings {
		s := &b.Spendings[i]
		state, of, mark, between := "kept", unknown, "", unknown
		switch {
		case s.Unknown():
			state = "unknown"
		case s.Broken:
			state = "BROKEN"
		case *s.SpentUSD > s.PlannedUSD:
			state = "above, not proven"
		}
		if s.What != "" {
			of = s.What
		}
		switch {
		case s.AtLeast != "":
			mark = ">="
			notes = append(notes, fmt.Sprintf(">= budget %s: %s", s.Name, s.AtLeast))
		case s.Interval != nil:
			between = output.Amount(s.Interval[0]) + " to " + output.Amount(s.Interval[1])
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Name(s.Name), output.Name(s.Budget.Subject()), output.Name(state), output.Name(of), output.Figure(amount(&s.PlannedUSD)),
			output.Figure(marked(mark, priced(amount(s.SpentUSD), s.GenericPrice))), output.Figure(between), output.Whole(s.Records),
		})
	}
	d.Add(t)
	if notes != nil {
		d.Say(notes...)
	}
	for i := range b.Alerts {
		d.Say(alertLines(&b.Alerts[i])...)
	}
	var silenced []string
	for i := range b.Silenced {
		a := &b.Silenced[i]
		silenced = append(silenced, fmt.Sprintf("budget %s: muted until %s because %s", a.Budget, a.Until.UTC().Format(time.RFC3339), a.Reason))
	}
	if silenced != nil {
		d.Say(silenced...)
	}
}
