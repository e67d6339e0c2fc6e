package table

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// ItemsAfter hands over, one write after the other, the items of the raw files that a
// tree lists beyond a sequence. What maintenance has made of such files is not
// looked at.
func (t *Tree) ItemsAfter(ctx context.Context, sequence int64, take func([]methodspan.Item) error) error {
	listed := map[string]int{}
	type raw struct {
		name     string
		sequence int64
	}
	var later []raw
	for i, o := range t.Objects {
		listed[o.Path] = i
		if n, ok := sequenceOf(path.Base(o.Path)); ok && n > sequence {
			later = append(later, raw{o.Path, n})
		}
	}
	slices.SortFunc(later, func(a, b raw) int { return int(a.sequence - b.sequence) })
	done := map[string]bool{}
	for _, r := range later {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done[r.name] {
			continue
		}
		var rows []methodspan.Row
		for names := []string{r.name}; len(names) > 0; names = names[1:] {
			i, ok := listed[names[0]]
			if !ok || done[names[0]] {
				continue // of a date that was dropped since
			}
			done[names[0]] = true
			c, err := t.Files[i].Content(ctx)
			if err != nil {
				return err
			}
			rows = append(rows, c.Rows...)
			names = append(names, c.Group.Files...) // the rows of an item may be of several dates
		}
		if err := take(itemsOf(rows)); err != nil {
			return err
		}
	}
	return nil
}

// itemsOf puts rows together again that came together.
func itemsOf(rows []methodspan.Row) []methodspan.Item {
	slices.SortFunc(rows, func(a, b methodspan.Row) int {
		if c := strings.Compare(a.BatchID, b.BatchID); c != 0 {
			return c
		}
		return int(a.RowSeq - b.RowSeq)
	})
	var items []methodspan.Item
	for from, i := 0, 1; i <= len(rows); i++ {
		if i == len(rows) || rows[i].BatchID != rows[from].BatchID {
			items = append(items, methodspan.Item{ID: rows[from].BatchID, Rows: rows[from:i:i]})
			from = i
		}
	}
	return items
}
