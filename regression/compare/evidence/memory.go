package evidence

import (
	"slices"
	"time"
)

// Memory is passed from one evaluation to the next: it counts how many consecutive evaluations raised each method.
// It can be stored as JSON; the zero value is that of a deployment without evaluations. It contains no evidence,
// because every evaluation computes it from all cells.
type Memory struct {
	// Seen is the end of the last bucket of the previous evaluation.
	Seen time.Time `json:"seen"`
	// InARow counts consecutive evaluations by caller and method. The caller is "" for costs; both are "" for the whole
	// service.
	InARow map[string]map[string]int `json:"in_a_row"`
	// Against counts the consecutive evaluations that spoke against an alert.
	Against map[string]map[string]int `json:"against,omitempty"`
}

// withdrawnAfter is the number of consecutive evaluations that withdraw an alert. A single one that finds less evidence
// does not, because evidence also falls by chance while the change remains.
const withdrawnAfter = 3

// alertKey identifies a raised method, pair or service. It keeps both names apart, as a method's name can contain "
// -> ".
type alertKey struct{ caller, method string }

func (m Memory) count(s alertKey) int { return m.InARow[s.caller][s.method] }

// keep returns raised and the alerts of earlier evaluations that are not withdrawn. against counts the evaluations that
// spoke against an alert: the interval excludes the smallest raised change, or the estimate or the last time bucket is
// below the base.
func (m Memory) keep(family []*compared, raised []alertKey, least float64, o Options, seen time.Time, against map[alertKey]int) []alertKey {
	for _, c := range family {
		s := c.alertKey()
		if slices.Contains(raised, s) || !c.before || !c.verdict.State.Judged() {
			continue
		}
		if c.byTypical && c.basis != Typical && !c.ownGrew(least) {
			c.decideByTypical() // evidence for and against the alert is of the same cost
		}
		n, more := m.Against[s.caller][s.method], c.answers[stillMore]
		switch {
		case c.verdict.Interval[1] >= least && c.verdict.Change > 0 && (more == nil || *more):
			n = 0
		case seen.After(m.Seen):
			n++
		}
		if n < withdrawnAfter {
			against[s] = n
			raised = append(raised, s)
			if c.kept = true; c.x != nil {
				c.doubt(c.x, o)
			}
		}
	}
	return raised
}

// next returns the Memory after an evaluation that raised some keys and spoke against some of them. An evaluation without
// new buckets is a repetition of the previous one and does not count.
func (m Memory) next(seen time.Time, raised []alertKey, against map[alertKey]int) Memory {
	again := !seen.After(m.Seen)
	n := Memory{Seen: seen, InARow: map[string]map[string]int{}, Against: map[string]map[string]int{}}
	for _, s := range raised {
		looks := m.count(s)
		if !again || looks == 0 {
			looks++
		}
		set(n.InARow, s, looks)
		if times := against[s]; times > 0 {
			set(n.Against, s, times)
		}
	}
	return n
}

func set(counts map[string]map[string]int, s alertKey, n int) {
	if counts[s.caller] == nil {
		counts[s.caller] = map[string]int{}
	}
	counts[s.caller][s.method] = n
}
