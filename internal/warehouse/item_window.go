package warehouse

import (
	"slices"
	"time"
)

// ItemWindow is the items of commits that are about as old.
type ItemWindow struct {
	Committed time.Time         `json:"committed"` // the last of them
	Items     map[string]string `json:"items"`
}

// MergeWindows makes one entry of those that were committed in the same part of the window
// in which repeats are recognised. Each commit of the writer rewrites them, and the
// batches of a process are one run however many files had them. Beyond the largest
// number of runs the oldest entries are left out.
func MergeWindows(entries []ItemWindow, window time.Duration, largest int) ([]ItemWindow, error) {
	pages := map[time.Time]*idPage{}
	var parts []time.Time
	runs := 0
	for _, e := range entries {
		part := e.Committed.UTC().Truncate(window / pagesPerLog)
		p := pages[part]
		if p == nil {
			p = &idPage{ids: IDSet{}}
			pages[part] = p
			parts = append(parts, part)
		}
		grown, err := p.ids.Unpack(e.Items)
		if err != nil {
			return nil, err
		}
		p.last = maxTime(p.last, e.Committed.UTC())
		p.runs += grown
		runs += grown
	}
	slices.SortFunc(parts, time.Time.Compare)
	for len(parts) > 1 && runs > largest {
		runs -= pages[parts[0]].runs
		parts = parts[1:]
	}
	var out []ItemWindow
	for _, part := range parts {
		out = append(out, ItemWindow{pages[part].last, pages[part].ids.Pack()})
	}
	return out, nil
}
