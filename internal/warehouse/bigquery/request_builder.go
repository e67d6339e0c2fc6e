package bigquery

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// requestBuilder makes requests of the rows of one write, one after the other. An item
// is in one request if it fits.
type requestBuilder struct {
	encoder *encoder
	items   []methodspan.Item
	rows    []*methodspan.Row // not yet in a request, in the order of the items
	skipped map[string]int    // rows of an item that were stored before
	limit   int               // bytes of a request's rows

	tooLarge func(*methodspan.Row) letter // of a row that no request can hold
}

// next is nil after the last one.
func (c *requestBuilder) next() *request {
	r := &request{}
	for len(c.items) > 0 {
		item := &c.items[0]
		mine := c.of(item)
		atItem := len(r.rows)
		n := 0
		for n < len(mine) {
			before := len(r.rows)
			r.rows = c.encoder.appendRow(r.rows, mine[n])
			if len(r.rows) > c.limit {
				r.rows = r.rows[:before]
				if before == 0 {
					r.letters = append(r.letters, c.tooLarge(mine[n]))
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
		case n == len(mine): // all of it
			c.rows = c.rows[n:]
			r.ids = append(append(r.ids, item.ID), item.Folds...)
			c.items = c.items[1:]
		case atItem > 0: // it goes into the next one
			keep := len(r.ends) - n
			r.rows, r.ends, r.refs = r.rows[:atItem], r.ends[:keep], r.refs[:keep]
			return r
		default:
			c.rows = c.rows[n:]
			r.part, r.partRows = item.ID, c.skipped[item.ID]+place(item, mine[n])
			return r
		}
	}
	if len(r.ids) == 0 && len(r.ends) == 0 {
		return nil
	}
	return r
}

// of is the rows of an item that are left.
func (c *requestBuilder) of(item *methodspan.Item) []*methodspan.Row {
	n := 0
	for n < len(c.rows) && c.rows[n].BatchID == item.ID {
		n++
	}
	return c.rows[:n]
}

// place is where in the item a row is.
func place(item *methodspan.Item, row *methodspan.Row) int {
	for i := range item.Rows {
		if &item.Rows[i] == row {
			return i
		}
	}
	return len(item.Rows)
}

// chosen leaves the items that a batch took.
func chosen(items []methodspan.Item, b warehouse.Batch) []methodspan.Item {
	taken := make(map[string]bool, len(b.IDs))
	for _, id := range b.IDs {
		taken[id] = true
	}
	var out []methodspan.Item
	for _, item := range items {
		if taken[item.ID] {
			taken[item.ID] = false // once
			out = append(out, item)
		}
	}
	return out
}
