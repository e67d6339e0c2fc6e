package parquet

import (
	"slices"
	"time"
)

// itemWindow are the items of commits that are about as old.
type itemWindow struct {
	Committed time.Time         `json:"committed"` // the last of them
	Items     map[string]string `json:"items"`
}

// merged makes one entry of those that were committed in the same part of the window
// in which repeats are recognised. Each commit of the writer rewrites them, and the
// batches of a process are one run however many files had them. Beyond the largest
// number of runs the oldest entries are left out.
func merged(entries []itemWindow, window time.Duration, largest int) ([]itemWindow, error) {
	type page struct {
		last time.Time
		ids  idSet
		runs int
	}
	pages := map[time.Time]*page{}
	var parts []time.Time
	runs := 0
	for _, e := range entries {
		part := e.Committed.UTC().Truncate(window / pagesPerBook)
		p := pages[part]
		if p == nil {
			p = &page{ids: idSet{}}
			pages[part] = p
			parts = append(parts, part)
		}
		grown, err := p.ids.unpack(e.Items)
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
	var out []itemWindow
	for _, part := range parts {
		out = append(out, itemWindow{pages[part].last, pages[part].ids.pack()})
	}
	return out, nil
}
