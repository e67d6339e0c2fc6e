package bigquery

import (
	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/warehouse"
)

// maxRefusals bounds what one write reports one by one.
const maxRefusals = 64

// writeResult counts what becomes of the rows of one write.
type writeResult struct {
	res  warehouse.Result
	errs []error
	// settled are rows that the service refused while it took what else their requests
	// held. They are refused even if the write fails, and no later one finds them again.
	settled     warehouse.Result
	settledErrs []error
	// quiet takes the refusals of rows that a write before this one brought.
	quiet *writeResult
}

func (t *writeResult) refused(item string, reason warehouse.Reason, detail string) {
	if t.quiet != nil {
		t = t.quiet
	}
	s := &t.settled
	if s.Refused == nil {
		s.Refused, s.RefusedOf = map[warehouse.Reason]int{}, map[string]int{}
	}
	s.Refused[reason]++
	s.RefusedOf[item]++
	if len(t.settledErrs) < maxRefusals {
		t.settledErrs = append(t.settledErrs, &warehouse.RowError{Item: item, Reason: reason, Rows: 1, Detail: detail})
	}
}

// done is the result of a write that stored all it could.
func (t *writeResult) done() (warehouse.Result, error) {
	res := t.res
	if res.Refused == nil {
		res.Refused = map[warehouse.Reason]int{}
	}
	for reason, n := range t.settled.Refused {
		res.Refused[reason] += n
	}
	res.RefusedOf = t.settled.RefusedOf
	return res, multierr.Combine(append(t.errs, t.settledErrs...)...)
}

// failed is the result of a write that did not.
func (t *writeResult) failed(err error) (warehouse.Result, error) {
	return t.settled, multierr.Combine(append([]error{err}, t.settledErrs...)...)
}
