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
// batches of a process become one run, however many files had them. Beyond largest runs it drops the
// oldest entries.
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
