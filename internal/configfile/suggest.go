package configfile

import (
	"fmt"
	"slices"
	"strings"
)

// maxCompared bounds the work of one suggestion, in bytes; longer names are no typos.
const maxCompared = 64

// DidYouMean returns a hint that contains the candidate closest to a name, or all candidates if
// none is close and they are few; else it is empty.
func DidYouMean(found string, candidates []string) string {
	if best := closest(found, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	const few = 16
	if len(candidates) == 0 || len(candidates) > few {
		return ""
	}
	quoted := make([]string, len(candidates))
	for i, c := range candidates {
		quoted[i] = Quote(c)
	}
	slices.Sort(quoted)
	return "known are " + strings.Join(quoted, ", ")
}

// closest returns the candidate that takes the fewest edits, if these are few enough for a typo:
// two, one in names of up to four letters, none in names of up to two.
func closest(found string, candidates []string) string {
	if len(found) > maxCompared {
		return ""
	}
	found = strings.ToLower(found)
	limit := 2
	switch {
	case len(found) <= 2:
		limit = 0
	case len(found) <= 4:
		limit = 1
	}
	best := ""
	for _, c := range candidates {
		if d := distance(found, strings.ToLower(c), limit); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between two
// names (optimal string alignment). If the count exceeds limit, it returns any number above
// limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := 1
			if a[i-1] == b[j-1] {
				changed = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
