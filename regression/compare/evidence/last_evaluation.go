package evidence

import (
	"fmt"
	"math"
)

// LastEvaluationFactor multiplies the required e-value if no later evaluation can confirm a change.
const LastEvaluationFactor = 20

// confirmLast decides on methods that the last evaluation raised for the first time. A second evaluation would separate
// lasting changes from temporary ones; as none can follow, more evidence is required.
func confirmLast(family []*compared, o Options) {
	for _, c := range family {
		v := &c.verdict
		if v.State != Pending {
			continue
		}
		v.LastEvaluation = true
		v.NeededE *= LastEvaluationFactor
		c.describePower(math.Log(v.NeededE), o)
		c.answers.endAt(stillMore) // more evidence replaces the confirmation
		if c.answers.ask(enoughEvidence, v.EValue >= v.NeededE) {
			if c.regressed(); v.State != Regressed {
				continue
			}
			v.Warnings = append(v.Warnings, fmt.Sprintf("reported by the last evaluation alone, with %d times the evidence, because no other can follow", LastEvaluationFactor))
			continue
		}
		v.State, c.proven = NotProven, false
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s in the last evaluation alone, e-value %.3g: because no other can follow, it needs %.3g", interval(v), v.EValue, v.NeededE))
	}
}
