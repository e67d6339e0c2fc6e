package methodfile

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean returns a hint that contains the candidate closest to a name, or all candidates if
// none is close and they are few.
func didYouMean(found string, candidates []string) string {
	if best := closest(found, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	const few = 16
	if len(candidates) == 0 || len(candidates) > few {
		return ""
	}
	quoted := make([]string, len(candidates))
	for i, c := range candidates {
		quoted[i] = quote(c)
	}
	slices.Sort(quoted)
	return "known are " + strings.Join(quoted, ", ")
}

// closest returns the candidate that takes the fewest edits, if these are few enough for a typo:
// two, one in names of up to four letters, none in names of up to two.
func closest(found string, candidates []string) string {
	const maxCompared = 64 // longer names are no typos
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
		if len(c) > len(found)+limit {
			continue
		}
		if d := editDistance(found, strings.ToLower(c)); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours between
// two names.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			substitution := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
