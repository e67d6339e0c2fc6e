package bigquery

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// requestBuilder splits the rows of one write into requests. The rows of an item are in one request
// if they fit.
type requestBuilder struct {
	encoder *encoder
	items   []methodspan.Item
	rows    []*methodspan.Row // not in a request yet, in the order of the items
	skipped map[string]int    // rows of an item that are already stored
	limit   int               // maximum bytes of a request's rows

	tooLargeLetter func(*methodspan.Row) pendingLetter // for a row that is too large for any request
}

// next returns the next request, nil after the last one.
func (c *requestBuilder) next() *request {
	r := &request{}
	for len(c.items) > 0 {
		item := &c.items[0]
		mine := c.itemRows(item)
		atItem := len(r.rows)
		n := 0
		for n < len(mine) {
			before := len(r.rows)
			r.rows = c.encoder.appendRow(r.rows, mine[n])
			if len(r.rows) > c.limit {
				r.rows = r.rows[:before]
				if before == 0 {
					r.letters = append(r.letters, c.tooLargeLetter(mine[n]))
					n++
					continue
				}
				break
			}
			r.ends = append(r.ends, len(r.rows))
			r.refs = append(r.refs, mine[n])
			n++
		}
		switch {
		case n == len(mine): // the whole item fits
			c.rows = c.rows[n:]
			r.ids = append(append(r.ids, item.ID), item.Folds...)
			c.items = c.items[1:]
		case atItem > 0: // the item goes into the next request
			keep := len(r.ends) - n
			r.rows, r.ends, r.refs = r.rows[:atItem], r.ends[:keep], r.refs[:keep]
			return r
		default:
			c.rows = c.rows[n:]
			r.part, r.partRows = item.ID, c.skipped[item.ID]+rowIndex(item, mine[n])
			return r
		}
	}
	if len(r.ids) == 0 && len(r.ends) == 0 {
		return nil
	}
	return r
}

// itemRows returns the remaining rows of an item.
func (c *requestBuilder) itemRows(item *methodspan.Item) []*methodspan.Row {
	n := 0
	for n < len(c.rows) && c.rows[n].BatchID == item.ID {
		n++
	}
	return c.rows[:n]
}

// rowIndex returns the index of a row in its item.
func rowIndex(item *methodspan.Item, row *methodspan.Row) int {
	for i := range item.Rows {
		if &item.Rows[i] == row {
			return i
		}
	}
	return len(item.Rows)
}

// acceptedItems returns the items that are in the batch, each once.
func acceptedItems(items []methodspan.Item, b warehouse.Batch) []methodspan.Item {
	taken := make(map[string]bool, len(b.IDs))
	for _, id := range b.IDs {
		taken[id] = true
	}
	var out []methodspan.Item
	for _, item := range items {
		if taken[item.ID] {
			taken[item.ID] = false // skip its duplicates
			out = append(out, item)
		}
	}
	return out
}
