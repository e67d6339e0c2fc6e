package ledger

import (
	"context"
	"time"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// NoteMissing records in costs how many emitted calls of each service are not stored: the figures do not include
// the cost of these calls.
func NoteMissing(ctx context.Context, w *query.Warehouse, filter query.Filter, costs *cost.Table, now time.Time) error {
	if !w.InFiles() { // BigQuery: each query costs money
		return nil
	}
	accounts, err := w.Accounts(ctx, query.Window{From: costs.From, To: costs.To}, filter, false)
	if err != nil {
		return err
	}
	var r Accounts
	if err := r.addProcesses(ctx, w, filter, accounts, now, false); err != nil {
		return err
	}
	services := map[query.Service]*Service{}
	for i := range r.Processes {
		p := &r.Processes[i]
		if services[p.Service] == nil {
			services[p.Service] = &Service{}
		}
		p.LostInTransit = max(0, p.LostInTransit) // a surplus of one process does not hide another's loss
		services[p.Service].addProcess(p)
	}
	for i := range costs.Services {
		if s := services[costs.Services[i].Service]; s != nil {
			costs.Services[i].MissingCalls, costs.Services[i].EmittedCalls = s.LostInTransit+s.NotJudgedCalls, s.HandedOutCalls
		}
	}
	return nil
}
