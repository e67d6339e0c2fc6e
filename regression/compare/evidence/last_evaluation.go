package evidence

import (
	"fmt"
	"math"
)

// LastEvaluationFactor is how much more evidence one evaluation takes that no other will confirm.
const LastEvaluationFactor = 20

// confirmLast decides what a last evaluation raised for the first time. Another evaluation is there
// to tell what lasts from what passes; where none can come, more evidence has to.
func confirmLast(family []*compared, o Options) {
	for _, c := range family {
		v := &c.verdict
		if v.State != Pending {
			continue
		}
		v.LastEvaluation = true
		v.NeededE *= LastEvaluationFactor
		c.describePower(math.Log(v.NeededE), o)
		c.answers.endAt(stillMore) // the evidence stands for a confirmation
		if c.answers.ask(enoughEvidence, v.EValue >= v.NeededE) {
			c.regressed()
			v.Warnings = append(v.Warnings, fmt.Sprintf("reported by the last evaluation alone, with %d times the evidence, because no other can follow", LastEvaluationFactor))
			continue
		}
		v.State, c.proven = NotProven, false
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s in the last evaluation alone, e-value %.3g: because no other can follow, it needs %.3g", interval(v), v.EValue, v.NeededE))
	}
}
