package bigquery

import "github.com/corehour/corehour/internal/parquet"

// maxRefusals bounds what one write reports one by one.
const maxRefusals = 64

// tally counts what becomes of the rows of one write.
type tally struct {
	res  parquet.Result
	errs []error
	// quiet takes the refusals of rows that a write before this one brought.
	quiet *tally
}

func (t *tally) add(res parquet.Result, refused []error) {
	before := t.res.Refused
	t.res = res
	for reason, n := range before {
		t.note(reason, n)
	}
	t.errs = append(t.errs, refused...)
}

func (t *tally) note(reason parquet.Reason, rows int) {
	if t.res.Refused == nil {
		t.res.Refused = map[parquet.Reason]int{}
	}
	t.res.Refused[reason] += rows
}

func (t *tally) stored(rows, bytes int) {
	t.res.Rows += rows
	t.res.Bytes += int64(bytes)
}

func (t *tally) refused(item string, reason parquet.Reason, rows int, detail string) {
	if t.quiet != nil {
		t = t.quiet
	}
	t.note(reason, rows)
	if len(t.errs) < maxRefusals {
		t.errs = append(t.errs, &parquet.RowError{Item: item, Reason: reason, Rows: rows, Detail: detail})
	}
}
