package warehouse

import (
	"slices"
	"time"
)

// ItemWindow holds the items of commits of about the same age.
type ItemWindow struct {
	Committed time.Time         `json:"committed"` // time of the newest commit
	Items     map[string]string `json:"items"`
}

// MergeWindows merges entries that were committed in the same part of window, the time for which repeats
// are recognised. This keeps manifests short, since each commit of the writer rewrites the entries: the
// batches of a process become one run of its newest part, however many files had them. Beyond largest runs
// it drops the oldest entries.
func MergeWindows(entries []ItemWindow, window time.Duration, largest int) ([]ItemWindow, error) {
	ids := newIDLog(window, largest)
	entries = slices.SortedStableFunc(slices.Values(entries), func(a, b ItemWindow) int { return a.Committed.Compare(b.Committed) })
	for _, e := range entries {
		if err := ids.addPacked(e.Items, e.Committed.UTC()); err != nil {
			return nil, err
		}
	}
	var out []ItemWindow
	for _, p := range ids.pages {
		if items := ids.packed(p); items != nil {
			out = append(out, ItemWindow{p.last, items})
		}
	}
	return out, nil
}
