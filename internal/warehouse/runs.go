package warehouse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// span is a run of numbers from from to to, inclusive.
type span struct{ from, to uint64 }

// hasNumber reports whether n is in one of the runs, which are sorted.
func hasNumber(runs []span, n uint64) bool {
	i, _ := slices.BinarySearchFunc(runs, n, func(r span, n uint64) int {
		if r.to < n {
			return -1
		}
		return 1
	})
	return i < len(runs) && runs[i].from <= n
}

// addRun adds a run to sorted runs that neither overlap nor touch each other.
func addRun(runs []span, r span) []span {
	if n := len(runs); n > 0 && runs[n-1].to+1 == r.from { // by far the most common case
		runs[n-1].to = r.to
		return runs
	}
	lo, _ := slices.BinarySearchFunc(runs, r.from, func(x span, from uint64) int {
		if x.to+1 < from {
			return -1
		}
		return 1
	})
	hi := lo
	for hi < len(runs) && runs[hi].from <= r.to+1 {
		r.from, r.to = min(r.from, runs[hi].from), max(r.to, runs[hi].to)
		hi++
	}
	return slices.Replace(runs, lo, hi, r)
}

// addRuns adds sorted runs to sorted runs, in one pass over both. more must not be empty.
func addRuns(runs, more []span) []span {
	at, _ := slices.BinarySearchFunc(runs, more[0].from, func(x span, from uint64) int {
		if x.from < from {
			return -1
		}
		return 1
	})
	behind := slices.Clone(runs[at:])
	runs = runs[:at]
	for len(behind) > 0 && len(more) > 0 {
		if behind[0].from < more[0].from {
			runs, behind = appendRun(runs, behind[0]), behind[1:]
		} else {
			runs, more = appendRun(runs, more[0]), more[1:]
		}
	}
	for _, r := range append(behind, more...) {
		runs = appendRun(runs, r)
	}
	return runs
}

// appendRun adds a run that begins after the beginning of the last one.
func appendRun(runs []span, r span) []span {
	if n := len(runs); n > 0 && r.from <= runs[n-1].to+1 {
		runs[n-1].to = max(runs[n-1].to, r.to)
		return runs
	}
	return append(runs, r)
}

// parseRuns parses runs as Pack writes them: sorted and without duplicates.
func parseRuns(text string) ([]span, error) {
	var runs []span
	for run := range strings.SplitSeq(text, ",") {
		a, b, isRange := strings.Cut(run, "-")
		if !isRange {
			b = a
		}
		from, errA := strconv.ParseUint(a, 10, 64)
		to, errB := strconv.ParseUint(b, 10, 64)
		n := len(runs)
		if errA != nil || errB != nil || from > to || to >= 1e18 || n > 0 && from <= runs[n-1].to {
			return nil, fmt.Errorf("%.80q is no list of runs like 1-5,9", text)
		}
		runs = appendRun(runs, span{from, to})
	}
	return runs, nil
}
