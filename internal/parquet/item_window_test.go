package parquet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// However many files were merged, a date's manifest tells of their items with a few
// runs for each process, and forgets none within the window.
func TestSettledItemsStayFew(t *testing.T) {
	const window, processes, batches = 24 * time.Hour, 7, 5000
	begin := time.Date(2026, 3, 1, 0, 30, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	var entries []itemWindow
	for n := range batches { // one item of each process a file
		at := begin.Add(time.Duration(n) * window / batches)
		ids := idSet{}
		for p := range processes {
			ids.addID(fmt.Sprintf("process-%d-%d", p, n))
		}
		ids.addID(fmt.Sprintf("alone-%x", rng.Uint64()|1<<63) + "x")
		entries = append(entries, itemWindow{at, ids.pack()})
		if n%50 == 49 {
			var err error
			if entries, err = merged(entries, window, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(entries) > pagesPerBook+1 {
		t.Errorf("%d entries", len(entries))
	}
	all, numbered := idSet{}, 0
	for i, e := range entries {
		if i > 0 && !entries[i-1].Committed.Before(e.Committed) {
			t.Errorf("entry %d is of %s, the one before of %s", i, e.Committed, entries[i-1].Committed)
		}
		if _, err := all.unpack(e.Items); err != nil {
			t.Fatal(err)
		}
		for p := range processes {
			if e.Items[fmt.Sprintf("process-%d-", p)] != "" {
				numbered++
			}
		}
	}
	if n := all.count(maxWriteIDs); n != (processes+1)*batches {
		t.Errorf("%d ids of %d", n, (processes+1)*batches)
	}
	if numbered > processes*(pagesPerBook+1) {
		t.Errorf("%d runs", numbered)
	}
	few, err := merged(entries, window, batches/2)
	if err != nil {
		t.Fatal(err)
	}
	if len(few) >= len(entries) || few[len(few)-1].Committed != entries[len(entries)-1].Committed {
		t.Errorf("of %d entries %d are left, the last of %s", len(entries), len(few), few[len(few)-1].Committed)
	}
	if _, err := merged([]itemWindow{{begin, map[string]string{"a": "2-1"}}}, window, 1); err == nil {
		t.Error("a damaged entry is taken")
	}
}

// Maintenance by a command, which knows no options of the writer, keeps as many items as
// the writer was asked to remember.
func TestMaintenanceRemembersAsMuchAsTheWriter(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	o := Options{RememberMax: 10_000, Now: now.now}
	w := openWriter(t, root, o)
	var all []methodspan.Item
	for n := range 6 {
		var some []methodspan.Item
		for i := range 50 {
			some = append(some, item(fmt.Sprintf("%d-%d-x", n, i), noon, 1))
		}
		write(t, w, some...)
		all = append(all, some...)
		now.t = now.t.Add(time.Hour)
	}
	m := openMaintainer(t, root, Options{RememberMax: 2 * pagesPerBook, Now: now.now})
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if res := write(t, openWriter(t, root, o), all...); res.DuplicateItems != len(all) {
		t.Errorf("%d of %d items are known", res.DuplicateItems, len(all))
	}
}
