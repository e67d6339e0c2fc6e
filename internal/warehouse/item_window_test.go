package warehouse

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// However many files were merged, a date's manifest tells of their items with a few
// runs for each process, and forgets none within the window.
func TestItemWindow_BoundedAfterMerges(t *testing.T) {
	const window, processes, batches = 24 * time.Hour, 7, 5000
	begin := time.Date(2026, 3, 1, 0, 30, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	var entries []ItemWindow
	for n := range batches { // one item of each process a file
		at := begin.Add(time.Duration(n) * window / batches)
		ids := IDSet{}
		for p := range processes {
			ids.AddID(fmt.Sprintf("process-%d-%d", p, n))
		}
		ids.AddID(fmt.Sprintf("alone-%x", rng.Uint64()|1<<63) + "x")
		entries = append(entries, ItemWindow{at, ids.Pack()})
		if n%50 == 49 {
			var err error
			if entries, err = MergeWindows(entries, window, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(entries) > pagesPerLog+1 {
		t.Errorf("%d entries", len(entries))
	}
	all, numbered := IDSet{}, 0
	for i, e := range entries {
		if i > 0 && !entries[i-1].Committed.Before(e.Committed) {
			t.Errorf("entry %d is of %s, the one before of %s", i, e.Committed, entries[i-1].Committed)
		}
		if _, err := all.Unpack(e.Items); err != nil {
			t.Fatal(err)
		}
		for p := range processes {
			if e.Items[fmt.Sprintf("process-%d-", p)] != "" {
				numbered++
			}
		}
	}
	if n := all.Count(1e8); n != (processes+1)*batches {
		t.Errorf("%d ids of %d", n, (processes+1)*batches)
	}
	if numbered > processes*(pagesPerLog+1) {
		t.Errorf("%d runs", numbered)
	}
	few, err := MergeWindows(entries, window, batches/2)
	if err != nil {
		t.Fatal(err)
	}
	if len(few) >= len(entries) || few[len(few)-1].Committed != entries[len(entries)-1].Committed {
		t.Errorf("of %d entries %d are left, the last of %s", len(entries), len(few), few[len(few)-1].Committed)
	}
	if _, err := MergeWindows([]ItemWindow{{begin, map[string]string{"a": "2-1"}}}, window, 1); err == nil {
		t.Error("a damaged entry is taken")
	}
}
