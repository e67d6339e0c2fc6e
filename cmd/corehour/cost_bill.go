package main

import (
	"fmt"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
)

// reconciliation shows how self costs add up to what is paid, of the top services that pay
// most (0 = all). more is what it does not show.
func reconciliation(r *cost.Table, top int) (t *output.Table, more string) {
	t = &output.Table{
		Title:   "how it adds up",
		Columns: []string{"service", "environment", "line", "core-h", "$", "share of bill", "calls"},
	}
	services, others, hours, usd := r.MostPaid(top)
	for _, s := range services {
		for _, l := range s.Bill() {
			calls := ""
			if l.Calls != nil {
				calls = output.Count(*l.Calls)
			}
			t.Rows = append(t.Rows, []output.Cell{
				output.Name(s.Name), output.Name(s.Environment), output.Name(l.What), output.Figure(output.AmountOf(l.CoreHours)),
				output.Figure(output.Priced(l.USD, s.GenericPrice)), output.Figure(output.PercentOf(l.Share)), output.Figure(calls),
			})
		}
	}
	if others > 0 {
		more = output.More(others, fmt.Sprintf("services pay %s core-h, $%s, together", output.AmountOf(hours), output.AmountOf(usd)))
	}
	return t, more
}
