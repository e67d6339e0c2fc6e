package table

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
)

// ItemsAfter calls take with the items of each write whose raw files have a number above sequence, in
// the order of the writes. It ignores merged and rolled-up files.
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
				continue // its date was dropped in the meantime
			}
			done[names[0]] = true
			c, err := t.Files[i].Content(ctx)
			if err != nil {
				return err
			}
			rows = append(rows, c.Rows...)
			names = append(names, c.Group.Files...) // an item can have rows in several dates
		}
		if err := take(itemsOf(rows)); err != nil {
			return err
		}
	}
	return nil
}

// itemsOf groups rows into the items that they arrived in.
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
