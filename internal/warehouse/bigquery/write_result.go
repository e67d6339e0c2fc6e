package bigquery

import (
	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/warehouse"
)

// maxRefusals bounds the errors that one write returns for single rows.
const maxRefusals = 64

// writeResult counts the outcome of the rows of one write.
type writeResult struct {
	res  warehouse.Result
	errs []error
	// refused counts rows that the service refused while it stored the rest of their requests. They
	// are reported even if the write fails, because no later write sees them again.
	refused     warehouse.Result
	refusedErrs []error
	// pendingResult, if not nil, receives the refusals instead: the rows belong to an earlier
	// write.
	pendingResult *writeResult
}

func (t *writeResult) addRefused(item string, reason warehouse.Reason, detail string) {
	if t.pendingResult != nil {
		t = t.pendingResult
	}
	s := &t.refused
	if s.Refused == nil {
		s.Refused, s.RefusedOf = map[warehouse.Reason]int{}, map[string]int{}
	}
	s.Refused[reason]++
	s.RefusedOf[item]++
	if len(t.refusedErrs) < maxRefusals {
		t.refusedErrs = append(t.refusedErrs, &warehouse.RowError{Item: item, Reason: reason, Rows: 1, Detail: detail})
	}
}

// success returns the result of a write that stored all rows that the service did not refuse.
func (t *writeResult) success() (warehouse.Result, error) {
	res := t.res
	if res.Refused == nil {
		res.Refused = map[warehouse.Reason]int{}
	}
	for reason, n := range t.refused.Refused {
		res.Refused[reason] += n
	}
	res.RefusedOf = t.refused.RefusedOf
	return res, multierr.Combine(append(t.errs, t.refusedErrs...)...)
}

// failure returns the result of a write that failed with err.
func (t *writeResult) failure(err error) (warehouse.Result, error) {
	return t.refused, multierr.Combine(append([]error{err}, t.refusedErrs...)...)
}
