package judge

import (
	"fmt"
	"strings"
)

// percent writes a share with its sign.
func percent(share float64) string { return fmt.Sprintf("%+.1f%%", 100*share) }

// power says what a look would have seen: no verdict without it.
func power(v *Verdict) string {
	if v.Seen90 > 9 {
		return "no change below a tenfold one would have been seen"
	}
	return fmt.Sprintf("%s would have been seen with 90%% probability", percent(v.Seen90))
}

func interval(v *Verdict) string {
	return fmt.Sprintf("%s (%s to %s)", percent(v.Change), percent(v.Interval[0]), percent(v.Interval[1]))
}

func costReason(v *Verdict) string {
	seen := fmt.Sprintf("%.0f and %.0f records", v.BaseRecords, v.HeadRecords)
	if v.BaseRecords == 0 { // the whole service: instances are what counts
		seen = "all methods"
	}
	switch v.State {
	case Regressed:
		return fmt.Sprintf("%s, e-value %.3g, %s", interval(v), v.EValue, seen)
	case Pending:
		if len(v.WaitsFor) > 0 {
			return fmt.Sprintf("%s, e-value %.3g: mostly by calls of %s, of which too little is known yet", interval(v), v.EValue, strings.Join(v.WaitsFor, ", "))
		}
		return fmt.Sprintf("%s, e-value %.3g: to be confirmed by the next look", interval(v), v.EValue)
	case Explained:
		return fmt.Sprintf("%s, because of %s", interval(v), strings.Join(v.Explains, ", "))
	case Moved:
		return fmt.Sprintf("%s, %s: their caller pays what it paid", interval(v), strings.Join(v.Explains, ", "))
	case NotProven:
		return fmt.Sprintf("~ no regression found; %s", power(v))
	case FewRecords:
		return fmt.Sprintf("~ too few records: %s", seen)
	case FewSlots:
		return "~ too few slots and instances to tell chance from change"
	case New:
		return "~ the base version has nothing to compare it with"
	case Gone:
		return "~ the head version did not call it"
	}
	return ""
}

func callsReason(v *Verdict) string {
	switch v.State {
	case Regressed, Pending:
		return fmt.Sprintf("%.3g calls per call, was %.3g: %s", v.HeadMean, v.BaseMean, interval(v))
	}
	return costReason(v)
}

// warnings are what makes all verdicts of a deployment weaker.
func warnings(d *Deployment) []string {
	var out []string
	switch d.Overlap {
	case PreviousDays:
		out = append(out, "the versions did not run at the same time: compared with the same minutes of earlier days, which is weaker")
	case Sequential:
		out = append(out, "the versions did not run at the same time and there are no earlier days: what the hour does is in the difference")
	}
	var n [2]int
	for _, in := range d.Instances {
		n[in.Side]++
	}
	if (n[Base] < 2 || n[Head] < 2) && n[Base]+n[Head] > 0 {
		out = append(out, fmt.Sprintf("%d and %d instances: what they differ by is assumed, not seen", n[Base], n[Head]))
	}
	return out
}
