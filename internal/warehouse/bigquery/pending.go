package bigquery

import (
	"context"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// pending is a request that was sent and whose outcome is not known.
type pending struct {
	request *request
	intent  *intent
}

// settlePending finds out what became of the request that an earlier write left
// open, and stores it if need be.
func (w *Writer) settlePending(ctx context.Context, t *writeResult) error {
	p := w.pending
	if p == nil {
		return nil
	}
	w.pending = nil
	// Its rows are counted as those of duplicates, which its items are now.
	return w.deliver(ctx, p.request, p.intent, true, &writeResult{quiet: t})
}

// unknownOutcome adds to the error of a write which of the items may be stored, wholly or
// in part. If there are none, and nothing else of them was stored, the error stays as
// it is: what was not sent can be folded.
func (w *Writer) unknownOutcome(items []methodspan.Item, wrote bool, err error) error {
	open := map[string]bool{}
	if w.pending != nil {
		in := w.pending.intent
		open[in.Part] = true
		for _, id := range in.Items {
			open[id] = true
		}
	}
	unknown := []string{}
	for i := range items {
		item := &items[i]
		if open[item.ID] || w.journal.parts[item.ID].Rows > 0 || slices.ContainsFunc(item.Folds, func(id string) bool { return open[id] }) {
			unknown = append(unknown, item.ID)
		}
	}
	if len(unknown) == 0 && !wrote {
		return err
	}
	e := w.fail("write all rows", warehouse.ErrUnknown, err)
	e.Items = unknown
	return e
}

// rest leaves out the rows of items that were stored before the items were complete.
func (w *Writer) rest(items []methodspan.Item) []methodspan.Item {
	if len(w.journal.parts) == 0 {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		if n := w.journal.parts[items[i].ID].Rows; n > 0 && n <= len(items[i].Rows) {
			items[i].Rows = items[i].Rows[n:]
		}
	}
	return items
}

// storedRows is how many rows rest leaves out, by item.
func (w *Writer) storedRows(items []methodspan.Item) map[string]int {
	rows := map[string]int{}
	for i := range items {
		if n := w.journal.parts[items[i].ID].Rows; n > 0 && n <= len(items[i].Rows) {
			rows[items[i].ID] = n
		}
	}
	return rows
}

// writtenBefore is how many of these rows are in the table.
func (w *Writer) writtenBefore(skipped map[string]int) (rows int) {
	for id, n := range skipped {
		rows += n - w.journal.parts[id].Refused
	}
	return rows
}

// refusedOfPart is how many rows are refused of the item that a request has a part of,
// once that is stored.
func (w *Writer) refusedOfPart(r *request) int {
	if r.part == "" {
		return 0
	}
	n := w.journal.parts[r.part].Refused
	for _, l := range r.letters {
		if l.item == r.part {
			n++
		}
	}
	return n
}
