package bigquery

import (
	"context"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// pending is a request that was sent and has an unknown outcome.
type pending struct {
	request *request
	intent  *intent
}

// settlePending finds out whether the pending request of an earlier write is stored, and stores it
// if not.
func (w *Writer) settlePending(ctx context.Context, t *writeResult) error {
	p := w.pending
	if p == nil {
		return nil
	}
	w.pending = nil
	// Its items are duplicates of this write now, so its rows are not counted as written.
	return w.deliver(ctx, p.request, p.intent, true, &writeResult{pendingResult: t})
}

// unknownOutcome makes err an ErrUnknown that names the items which may be stored, wholly or in
// part. If there is no such item and wrote is false, it returns err unchanged: items that were
// never sent can be aggregated.
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
		if open[item.ID] || w.journal.partial[item.ID].Rows > 0 || slices.ContainsFunc(item.Folds, func(id string) bool { return open[id] }) {
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

// unstoredRows returns the items without the rows that earlier writes stored of incomplete items.
func (w *Writer) unstoredRows(items []methodspan.Item) []methodspan.Item {
	if len(w.journal.partial) == 0 {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		if n := w.journal.partial[items[i].ID].Rows; n > 0 && n <= len(items[i].Rows) {
			items[i].Rows = items[i].Rows[n:]
		}
	}
	return items
}

// storedRows returns the number of rows that unstoredRows leaves out, by item id.
func (w *Writer) storedRows(items []methodspan.Item) map[string]int {
	rows := map[string]int{}
	for i := range items {
		if n := w.journal.partial[items[i].ID].Rows; n > 0 && n <= len(items[i].Rows) {
			rows[items[i].ID] = n
		}
	}
	return rows
}

// rowsInTable returns how many of the skipped rows are in the table and not refused.
func (w *Writer) rowsInTable(skipped map[string]int) (rows int) {
	for id, n := range skipped {
		rows += n - w.journal.partial[id].Refused
	}
	return rows
}

// refusedOfPart returns how many rows of the request's incomplete item are refused once the request
// is stored.
func (w *Writer) refusedOfPart(r *request) int {
	if r.part == "" {
		return 0
	}
	n := w.journal.partial[r.part].Refused
	for _, l := range r.letters {
		if l.item == r.part {
			n++
		}
	}
	return n
}
