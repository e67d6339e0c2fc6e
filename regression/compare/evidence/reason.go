package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/output"
)

// percent formats a fraction as a percentage with its sign.
func percent(share float64) string { return output.Change(100 * share) }

func (s changePart) String() string {
	return fmt.Sprintf("%s (%s to %s)", percent(s.Change), percent(s.Interval[0]), percent(s.Interval[1]))
}

// power describes the change that the test would have found.
func power(v *outcome) string {
	if v.Seen90 > 9 {
		return "no change below x10 would have been seen"
	}
	return fmt.Sprintf("%s would have been seen with 90%% probability", percent(v.Seen90))
}

func interval(v *outcome) string { return changePart{v.Change, v.Interval}.String() }

// parts describes the measured change and the common part that was subtracted.
func parts(v *outcome) string {
	switch {
	case v.CommonReason == "":
		return ""
	case v.Common == nil:
		return fmt.Sprintf("measured %s, nothing taken off, common part %s", v.Measured, v.CommonReason)
	case v.Remaining == nil: // the whole service
		return fmt.Sprintf("measured %s", v.Measured)
	}
	return fmt.Sprintf("measured %s, %s taken off: %s", v.Measured, percent(v.Common.Change), v.CommonReason)
}

func costReason(v *outcome) string {
	seen := fmt.Sprintf("%.0f and %.0f records", v.BaseRecords, v.HeadRecords)
	if v.BaseRecords == 0 { // the whole service has no records of its own
		seen = "all methods"
	}
	join := func(all ...string) string {
		return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
	}
	tail := ""
	if v.Tail {
		tail = "rare expensive calls became more frequent"
	}
	evidence := fmt.Sprintf("%s, e-value %.3g, %s", interval(v), v.EValue, seen)
	switch v.State {
	case Regressed:
		return join(evidence, tail, parts(v))
	case Pending:
		return join(fmt.Sprintf("%s, e-value %.3g: %s", interval(v), v.EValue, v.Needed.text()), tail, parts(v))
	case Explained:
		return join(fmt.Sprintf("inclusive %s, because of %s", v.Inclusive, strings.Join(v.Explains, ", ")), parts(v))
	case WithService:
		return join("as the whole service", parts(v))
	case Moved:
		return fmt.Sprintf("%s, %s: who calls both pays what it paid", interval(v), strings.Join(v.Explains, ", "))
	case Undecided:
		return join(fmt.Sprintf("not enough data: %s with what hosts and processes differ by", interval(v)), parts(v), v.Needed.text())
	case NotDistinguishable, Small:
		return join(evidence, "no alert: "+v.Doubt, v.Needed.text(), parts(v))
	case NotProven:
		if v.LogE >= math.Log(v.NeededE) && !v.LastEvaluation && v.Change > 0 {
			return join(evidence, "in the last time bucket it was no longer more expensive", parts(v))
		}
		return join("~ no regression found; "+power(v), parts(v))
	case FewRecords:
		return "~ too few records: " + seen
	case FewBuckets:
		return "~ too few time buckets and instances to distinguish chance from change"
	case New:
		return "~ new: the base version has nothing to compare it with"
	case Gone:
		return "~ the head version did not call it"
	}
	return ""
}

func callsReason(v *outcome) string {
	switch v.State {
	case Regressed, Pending:
		return fmt.Sprintf("%.3g calls per call, was %.3g: %s", v.HeadMean, v.BaseMean, interval(v))
	}
	return costReason(v)
}

// warnings returns the reasons that make all verdicts of a deployment less certain.
func warnings(x *index) []string {
	var out []string
	switch {
	case x.d.ByAge:
		out = append(out, "processes never settle: compared with others of the same age, whatever hour it was")
	case x.d.Overlap == PreviousDays:
		out = append(out, "the versions did not run at the same time: compared with the same minutes of earlier days, which is weaker")
	case x.d.Overlap == Sequential:
		out = append(out, "the versions did not run at the same time and there are no earlier days: what the hour does is in the difference")
	}
	if (x.bases < 2 || x.heads < 2) && x.bases+x.heads > 0 {
		out = append(out, fmt.Sprintf("%d and %d instances: what they differ by is assumed, not seen", x.bases, x.heads))
	}
	if !x.callersKnown && len(x.cells) > 0 {
		out = append(out, "callers are unknown: changes are of inclusive cost, with all that a method calls")
	}
	if w := x.learned.Waiting; w[Base]+w[Head] > 0 {
		out = append(out, fmt.Sprintf("%d and %d processes are still warming up: the next evidence is due from %s on", w[Base], w[Head], x.learned.Due.UTC().Format("15:04:05")))
	}
	if load := x.load(); math.Abs(load) > sameLoad {
		out = append(out, fmt.Sprintf("a process of the new version gets %.2g times the calls of one of the base: a change that follows the load cannot be distinguished from one of the version", math.Exp(load)))
	}
	return out
}
