package cost

import (
	"cmp"
	"fmt"

	"github.com/corehour/corehour/regression/output"
)

// BudgetTable returns the table of budgets and spendings. notes explain which amounts are lower bounds.
func BudgetTable(spendings []Spending) (t *output.Table, notes []string) {
	var c output.Columns[Spending]
	c.Plain("budget=name")
	c.Name("about", func(s *Spending) string { return s.Budget.selection() })
	c.Name("state", (*Spending).state)
	c.Name("of", func(s *Spending) string { return cmp.Or(s.What, output.Unknown) })
	c.Figure("planned $/day", func(s *Spending) string { return output.Amount(s.PlannedUSD) })
	c.Figure("spent $/day", func(s *Spending) string {
		mark := ""
		if s.AtLeast != "" {
			mark = ">="
		}
		return marked(mark, output.Priced(s.SpentUSD, s.GenericPrice))
	})
	c.Figure("95% interval", func(s *Spending) string {
		if s.AtLeast != "" {
			return output.Unknown
		}
		return output.Interval(s.Interval, output.Amount)
	})
	c.Plain("records")
	for i := range spendings {
		switch s := &spendings[i]; {
		case s.AtLeast != "":
			notes = append(notes, fmt.Sprintf(">= budget %s: %s", s.Name, s.AtLeast))
		case s.SpentUSD == nil:
			notes = append(notes, fmt.Sprintf("budget %s: no cost of %s is stored in this window: check its names, and that there are prices", s.Name, s.Budget.selection()))
		}
	}
	t = c.Table(spendings)
	t.Title = "budgets"
	return t, notes
}
