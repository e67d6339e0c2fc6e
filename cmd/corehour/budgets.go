package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// budgeting is the result of comparing costs with a file of budgets.
type budgeting struct {
	Spendings []cost.Spending          `json:"spendings"`
	Alerts    []alert.Alert            `json:"alerts"`
	Silenced  []delivery.SilencedAlert `json:"silenced"`
}

// costAnswer is the JSON form of the output of cost.
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

// checkBudgets compares spending with the budgets and sends alerts for exceeded ones.
func (c *costFlags) checkBudgets(ctx context.Context, w *query.Warehouse, r *cost.Table, budgets *cost.Budgets) (*budgeting, error) {
	if r.Groups != nil { // budgets add up methods
		o := c.options
		o.By = nil
		var err error
		if r, err = cost.Compute(ctx, w, o); err != nil {
			return nil, err
		}
	}
	b := &budgeting{Spendings: []cost.Spending{}}
	var alerts []alert.Alert
	for _, budget := range budgets.Budgets {
		s := r.Spend(budget)
		b.Spendings = append(b.Spendings, s)
		if s.Broken {
			alerts = append(alerts, s.Alert(now()))
		}
	}
	sorted, err := c.delivery.router.Handle(ctx, alerts, 0, cost.Kept(b.Spendings))
	if sorted == nil {
		return nil, err
	}
	b.Alerts, b.Silenced = sorted.Alerts, sorted.Silenced
	return b, err
}

// addTables prints the budgets and their alerts.
func (b *budgeting) addTables(d *output.Document) {
	table, notes := cost.BudgetTable(b.Spendings)
	d.Add(table)
	d.Say(notes...)
	for i := range b.Alerts {
		d.Say(b.Alerts[i].Lines(false)...)
	}
	var silenced []string
	for i := range b.Silenced {
		a := &b.Silenced[i]
		silenced = append(silenced, fmt.Sprintf("budget %s: muted %s", a.Budget, a.Muted()))
	}
	d.Say(silenced...)
}
