package ledger

import (
	"context"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// Reconcile computes costs and records the services whose estimated costs of methods exceed the CPU time of their
// processes: their probes need attention. It returns a line on each of them.
func (r *Accounts) Reconcile(ctx context.Context, w *query.Warehouse, of query.Filter, window query.Window) (lines []string, err error) {
	if !w.InFiles() { // BigQuery: each query costs money
		return nil, nil
	}
	costs, err := cost.Compute(ctx, w, cost.Options{Filter: of, Window: window, NoTails: true})
	if err != nil {
		return nil, err
	}
	r.Reconciled = []Reconciled{}
	for i := range costs.Services {
		if s := &costs.Services[i]; s.AboveProcess() {
			r.Reconciled = append(r.Reconciled, Reconciled{Service: s.Service, MeasuredCoreHours: s.MeasuredCoreHours, ProcessCoreHours: *s.ProcessCoreHours})
			lines = append(lines, s.Excess())
		}
	}
	return lines, nil
}
