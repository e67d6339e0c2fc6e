package pairs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// due returns when pending verdicts will be confirmed.
func (s *preparedPair) due(r *evidence.Result) []string {
	pending := func(v evidence.Verdict) bool { return v.State == evidence.Pending }
	if !slices.ContainsFunc(r.Methods, pending) && !slices.ContainsFunc(r.Calls, pending) && !pending(r.Service) {
		return nil
	}
	d := s.deployment
	next := d.Begin.Add(d.Bucket * time.Duration(d.Buckets+1))
	return []string{"what is to be confirmed is decided when the time bucket up to " + next.UTC().Format("15:04:05") + " is complete"}
}

// leftOut returns the reason why no measured call could be compared.
func leftOut(lines []evidence.Verdict) []string {
	var compared, left int64
	for i := range lines {
		compared, left = compared+lines[i].BaseRecords+lines[i].HeadRecords, left+lines[i].NotCompared
	}
	if compared > 0 || left == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d measured calls have no part in this: they began while their process was warming up or in a time bucket that was still open, or rows of that time are kept by minute or hour and time buckets are shorter: see --slot and --warm-up", left)}
}

// maxRefused is the maximum number of methods that refused returns.
const maxRefused = 3

// refused describes the methods that only the last evaluation raised, with too little evidence for one evaluation.
func refused(lines []evidence.Verdict) (out []string) {
	n := 0
	for i := range lines {
		if l := &lines[i]; l.LastEvaluation && (l.State == evidence.NotProven || l.State == evidence.Undecided) {
			if n++; n <= maxRefused {
				out = append(out, l.FullName+": "+strings.Join(l.Warnings, "; "))
			}
		}
	}
	if n > maxRefused {
		out = append(out, fmt.Sprintf("and %d methods more in the last evaluation alone", n-maxRefused))
	}
	return out
}

// missing describes the processes that ran but are not part of the comparison.
func (s *preparedPair) missing(c *Comparison, p Pair) []string {
	var out []string
	for side, deployment := range [2]Deployment{evidence.Base: p.Base, evidence.Head: p.Head} {
		version := deployment.Version
		if s.processes[side] == 0 && deployment.Measured > 0 {
			out = append(out, fmt.Sprintf("nothing that version %s measured is compared: the versions ran together for less than %d time buckets of %s after their warm-up, and it did not run alone when it is compared with the other: give a shorter --slot", version, minOverlap, s.plan.grid.TimeBucket))
		} else if s.processes[side] == 0 {
			out = append(out, fmt.Sprintf("no call of version %s was measured in this time, calls were counted at most: corehour explain METHOD shows at what rates methods are measured", version))
		}
		if n := s.ageUnknown[side]; n > 0 {
			out = append(out, fmt.Sprintf("%d of %d processes of version %s not compared: they were not seen from their start", n, n+s.processes[side], version))
		}
		if n := s.silent[side]; n > 0 {
			are := "are"
			if n == 1 {
				are = "is"
			}
			out = append(out, fmt.Sprintf("%d of %d processes of version %s measured no %s time and %s not compared: corehour check shows what SDKs say of it",
				n, s.processes[side], version, c.Metric, are))
		}
	}
	if s.uncounted > 0 {
		methods := "methods were"
		if s.uncounted == 1 {
			methods = "method was"
		}
		out = append(out, fmt.Sprintf("%d %s measured and not counted, so it is not known how many calls a measured one stands for: corehour check shows what was lost", s.uncounted, methods))
	}
	return out
}
